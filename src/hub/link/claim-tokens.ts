/** Mask of 7 hex digits. */
const epochMask = 0x0fff_ffff;

/**
 * Tokens of the claims that a hub makes for a worker: the incarnation, `f`, the epoch of the connection (7 hex digits), a
 * counter (8). Workers on a storage link count from 0, so the two never meet; nor do those of two connections.
 */
export class ClaimTokens {
  readonly #prefix: string;
  #count = 1;

  constructor(incarnation: string, epoch: number) {
    this.#prefix = `${incarnation}f${((epoch & epochMask) >>> 0).toString(16).padStart(7, '0')}`;
  }

  /** The same until it is used up, so that a claim whose answer was lost is repeated as it was. */
  get current(): string {
    return this.#prefix + this.#count.toString(16).padStart(8, '0');
  }

  useUp(): void {
    this.#count += 1;
  }
}
