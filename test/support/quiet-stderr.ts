/** Keeps what processes of a test write in their last moments out of the output of the tests. */
export function quietStderr(): Disposable & { readonly text: () => string } {
  const { write } = process.stderr;
  let text = '';
  process.stderr.write = ((chunk: string | Uint8Array): boolean => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    return true;
  }) as typeof write;
  return {
    text: () => text,
    [Symbol.dispose]: () => {
      process.stderr.write = write;
    },
  };
}
