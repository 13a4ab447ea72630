import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MillraceError } from '../internal/errors.js';
import { inexactNumber, jsonErrorIndex } from './json-position.js';

/** Beyond what any payload may be, so that reading ends also for a device or an endless pipe. */
const mostBytes = 4 * 1024 * 1024;

export interface PayloadSource {
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array | string>;
}

/**
 * The value of `--payload`: JSON text, `@file`, or `-` for standard input.
 *
 * @throws MillraceError `json-invalid` with line and column, `usage-invalid` for a file that can't be read
 */
export async function readPayload(given: string, source: PayloadSource): Promise<unknown> {
  if (given === '-') return parse(await readStream(source.stdin), 'standard input');
  if (!given.startsWith('@')) return parse(given, '--payload');
  const file = resolve(source.cwd, given.slice(1));
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const isFolder = (error as NodeJS.ErrnoException).code === 'EISDIR';
    throw new MillraceError(
      'usage-invalid',
      isFolder
        ? `--payload: expected a file of JSON behind the @, got a folder: ${file}`
        : `--payload: ${file} cannot be read: ${(error as Error).message}`,
      {
        details: { file },
        cause: error,
      },
    );
  }
  return parse(text, file);
}

async function readStream(stream: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk as Uint8Array);
    bytes += buffer.length;
    if (bytes > mostBytes) {
      throw new MillraceError(
        'payload-too-large',
        `--payload -: standard input has more than ${mostBytes} bytes`,
      );
    }
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string, what: string): unknown {
  const clean = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  let value: unknown;
  try {
    value = JSON.parse(clean);
  } catch (error) {
    throw new MillraceError('json-invalid', jsonProblem(clean, what), { cause: error });
  }
  const inexact = inexactNumber(clean);
  if (inexact === null) return value;
  throw new MillraceError(
    'json-invalid',
    `${what}: at ${placeOf(clean, inexact.index)} the number ${inexact.text.slice(0, 40)} is more than JavaScript can hold exactly (whole numbers up to 2^53 - 1). Give it as a text: "${inexact.text.slice(0, 40)}"`,
  );
}

function jsonProblem(text: string, what: string): string {
  if (text.trim() === '') return `${what}: expected JSON, got nothing`;
  const index = jsonErrorIndex(text) ?? text.length;
  const place = placeOf(text, index);
  const got =
    index >= text.length ? 'it ends too early' : `unexpected ${JSON.stringify(snippet(text, index))}`;
  const isWord = /^\s*[\w .-]+\s*$/.test(text) && index <= text.search(/\S/);
  const fix = isWord ? `. A text needs quotes of its own: '"${text.trim()}"'` : '';
  return `${what}: expected JSON, but at ${place} ${got}${fix}`;
}

function placeOf(text: string, index: number): string {
  const before = text.slice(0, index).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function snippet(text: string, index: number): string {
  const rest = /^(?:[\w.]+|.)/su.exec(text.slice(index, index + 40))?.[0] ?? '';
  return rest.slice(0, 20);
}
