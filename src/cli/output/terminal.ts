import { printable, printableJson } from '../../internal/printable.js';
import { errorDocument, errorText } from './error-text.js';
import { createStyle, type Style, wantsColours } from './style.js';
import { type Column, tableLines } from './table.js';

/** What of a stream a terminal needs; `process.stdout` has it. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface TerminalOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** One JSON document instead of texts for people. */
  readonly isJson: boolean;
}

/** Where commands write: what was asked for to stdout, everything else to stderr. */
export class Terminal {
  readonly isJson: boolean;
  /** For stdout. */
  readonly style: Style;
  /** For stderr. */
  readonly noteStyle: Style;
  /** A terminal reads stderr, so a line may be drawn again. */
  readonly isLive: boolean;
  /** Columns of stdout; Infinity where nothing is to be cut. */
  readonly width: number;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  #hasProgress = false;
  #hasAnswered = false;

  constructor({ stdout, stderr, env, isJson }: TerminalOptions) {
    this.isJson = isJson;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.style = createStyle(wantsColours(stdout.isTTY === true, env));
    this.noteStyle = createStyle(wantsColours(stderr.isTTY === true, env));
    this.isLive = stderr.isTTY === true && env['TERM'] !== 'dumb';
    this.width = widthOf(stdout, env);
  }

  /** The answer of the command: the JSON document, or what the function prints. */
  answer(document: unknown, print: () => void): void {
    if (this.isJson) this.#document(document);
    else print();
  }

  /** The error that ended the command: prose on stderr, and where an answer in JSON was asked for, the error as that. */
  fail(error: unknown, isDebug: boolean): void {
    this.endProgress();
    this.#stderr.write(errorText(error, isDebug));
    if (this.isJson && !this.#hasAnswered) this.#document({ error: errorDocument(error) });
  }

  #document(document: unknown): void {
    this.#hasAnswered = true;
    this.#stdout.write(`${printableJson(JSON.stringify(document, null, 2))}\n`);
  }

  /** A line that is printable already. */
  line(text = ''): void {
    this.#stdout.write(`${text}\n`);
  }

  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void {
    for (const line of tableLines(rows, columns, { style: this.style, width: this.width })) this.line(line);
  }

  /** A line beside the answer, on stderr. */
  note(text: string): void {
    this.endProgress();
    this.#stderr.write(`${printable(text)}\n`);
  }

  /** A line on stderr that the next one replaces. Nothing where no terminal reads it. */
  progress(text: string): void {
    if (!this.isLive) return;
    this.#stderr.write(`\r\u001B[K${printable(text)}`);
    this.#hasProgress = true;
  }

  endProgress(): void {
    if (this.#hasProgress) this.#stderr.write('\r\u001B[K');
    this.#hasProgress = false;
  }
}

/** `COLUMNS` goes before what the terminal says; a pipe gets everything in full. */
function widthOf(stdout: OutputStream, env: Readonly<Record<string, string | undefined>>): number {
  const wanted = Number(env['COLUMNS']);
  if (Number.isInteger(wanted) && wanted > 0) return Math.max(wanted, 40);
  if (stdout.isTTY !== true) return Number.POSITIVE_INFINITY;
  return Math.max(stdout.columns ?? 80, 40);
}
