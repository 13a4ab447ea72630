const barWidth = 30;
const drawEveryMs = 50;
const sayEveryMs = 500;

/** A bar that is drawn again and again on a terminal, and a line now and then elsewhere. */
export class ProgressBar implements Disposable {
  readonly #total: number;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #done = 0;
  #drawn = -1;

  constructor(total: number) {
    this.#total = total;
    this.#timer = setInterval(() => this.#draw(), process.stdout.isTTY ? drawEveryMs : sayEveryMs);
  }

  get done(): number {
    return this.#done;
  }

  set(done: number): void {
    this.#done = Math.max(done, this.#done);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#draw();
    if (process.stdout.isTTY) process.stdout.write('\n');
  }

  #draw(): void {
    if (!process.stdout.isTTY && this.#drawn === this.#done) return;
    this.#drawn = this.#done;
    const share = this.#total === 0 ? 1 : Math.min(this.#done / this.#total, 1);
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    const text = `${this.#done} of ${this.#total} jobs, ${seconds} s`;
    if (!process.stdout.isTTY) return void process.stdout.write(`${text}\n`);
    const filled = Math.round(share * barWidth);
    const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
    process.stdout.write(`\r\u001B[K${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${text}`);
  }
}
