/** The 16 bytes of a lease token. */
export const tokenToBytes = (token: string): Buffer => Buffer.from(token, 'hex');

export const bytesToToken = (bytes: Buffer): string => bytes.toString('hex');

/** Every token of an incarnation is at least `from` and less than `to`. */
export function tokenRange(incarnation: string): { readonly from: Buffer; readonly to: Buffer } {
  const first = Buffer.from(incarnation, 'hex');
  const after = Buffer.from(first);
  for (let at = after.length - 1; at >= 0; at -= 1) {
    const byte = ((after[at] ?? 0) + 1) & 0xff;
    after[at] = byte;
    if (byte !== 0) return { from: first, to: after };
  }
  // All ones: what is longer than the first bytes of every token is greater than all of them.
  return { from: first, to: Buffer.alloc(17, 0xff) };
}
