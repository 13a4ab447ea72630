import { printableBlock } from './printable.js';
import { storedText } from './stored-text.js';

const keptBytes = 8 * 1024;
const shownBytes = 2 * 1024;

/** The end of what a process wrote, however much that was. */
export class StderrTail {
  #kept: Buffer = Buffer.alloc(0);

  add(chunk: Buffer): void {
    const joined = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = joined.length <= keptBytes ? joined : Buffer.from(joined.subarray(-keptBytes));
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0;
  }

  includes(text: string): boolean {
    return this.#kept.includes(text);
  }

  /** Printable, at most 2 KB, from the start of a line where there is one. */
  text(): string {
    const whole = printableBlock(this.#kept.toString('utf8')).trimEnd();
    if (Buffer.byteLength(whole) <= shownBytes) return storedText(whole, shownBytes);
    // Escapes may have made it longer; three bytes a character at most are reckoned with.
    let end = whole.slice(-shownBytes);
    while (Buffer.byteLength(end) > shownBytes)
      end = end.slice(Math.ceil((Buffer.byteLength(end) - shownBytes) / 3));
    const newline = end.indexOf('\n');
    return storedText(newline >= 0 && newline < end.length / 2 ? end.slice(newline + 1) : end, shownBytes);
  }
}
