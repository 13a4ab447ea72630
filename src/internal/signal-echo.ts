/** Ctrl-C reaches the whole process group, and npm then passes it on to its child: the same press, told twice. */
const echoMs = 150;

export class SignalEcho {
  #lastAtMs = Number.NEGATIVE_INFINITY;

  /** Whether the signal that has just come is the one before, told again. */
  isEcho(): boolean {
    const now = performance.now();
    const isEcho = now - this.#lastAtMs < echoMs;
    this.#lastAtMs = now;
    return isEcho;
  }
}
