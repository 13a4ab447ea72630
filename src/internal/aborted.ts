/** A wait for a signal that can be given up, so that racing it leaves no listener behind. */
export interface AbortWait extends Disposable {
  /** Resolves when the signal has fired; never rejects. */
  readonly fired: Promise<void>;
}

/** `using wait = aborted(signal); await Promise.race([work, wait.fired]);` */
export function aborted(signal: AbortSignal): AbortWait {
  let resolve: () => void = () => undefined;
  const fired = new Promise<void>((done) => {
    resolve = done;
  });
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', resolve, { once: true });
  return { fired, [Symbol.dispose]: () => signal.removeEventListener('abort', resolve) };
}
