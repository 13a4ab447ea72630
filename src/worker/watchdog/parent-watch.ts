/** Tells, once, when the process that started this one is gone: the kernel then gives it another parent. */
export class ParentWatch implements Disposable {
  readonly #pid: number;
  readonly #onGone: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(pid: number, onGone: () => void) {
    this.#pid = pid;
    this.#onGone = onGone;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    if (process.ppid === this.#pid) return;
    this[Symbol.dispose]();
    this.#onGone();
  }
}

const lookEveryMs = 500;
