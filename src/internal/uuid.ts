import { randomFillSync } from 'node:crypto';
import { expectedGot, MillraceError } from './errors.js';

/*
 * UUIDv7 by RFC 9562, section 5.7, with the monotonic counter of section 6.2, method 1:
 *
 *   48 bits  Unix time in milliseconds
 *    4 bits  version 7
 *   26 bits  counter (12 bits rand_a, 14 bits after the variant): random at the first id of a
 *            millisecond with its top bit clear, plus one for each further id of it
 *   48 bits  random, fresh for every id
 *
 * The order of ids of one process is the order in which they were made, also while the clock
 * stands still or steps back: time then stays at the newest value seen, and moves on by one
 * millisecond when the counter is used up. Nothing may read time out of an id.
 */

const poolBytes = 8192;
const freshBytes = 6;
const seedBytes = 4;
const counterSeedMask = 0x1ffffff;
const counterMax = 0x3ffffff;

const pool = Buffer.allocUnsafeSlow(poolBytes);
let poolOffset = poolBytes;
let lastMs = -1;
let counter = 0;
let timePrefix = '';

const hexOfByte: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
);
const nibbles = '0123456789abcdef';
const variantNibbles = '89ab';

/** A new id, later in order than every id this process made before. */
export function uuidv7(): string {
  const now = Date.now();
  if (poolOffset + freshBytes + seedBytes > poolBytes) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  if (now > lastMs) enterMillisecond(now);
  else if (counter === counterMax) enterMillisecond(lastMs + 1);
  else counter += 1;
  const at = poolOffset;
  poolOffset = at + freshBytes;
  return (
    timePrefix +
    nibbles[counter >>> 22] +
    hexOfByte[(counter >>> 14) & 0xff] +
    '-' +
    variantNibbles[(counter >>> 12) & 0x3] +
    hexOfByte[(counter >>> 4) & 0xff] +
    nibbles[counter & 0xf] +
    '-' +
    hexOfByte[pool[at] as number] +
    hexOfByte[pool[at + 1] as number] +
    hexOfByte[pool[at + 2] as number] +
    hexOfByte[pool[at + 3] as number] +
    hexOfByte[pool[at + 4] as number] +
    hexOfByte[pool[at + 5] as number]
  );
}

function enterMillisecond(ms: number): void {
  lastMs = ms;
  counter = pool.readUInt32LE(poolOffset) & counterSeedMask;
  poolOffset += seedBytes;
  const text = ms.toString(16).padStart(12, '0');
  timePrefix = `${text.slice(0, 8)}-${text.slice(8, 12)}-7`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` has the form of a UUID of any version. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuidPattern.test(text);
}

const notHex = 0xff;
const hexValueOfCharCode = new Uint8Array(128).fill(notHex);
for (let value = 0; value < 16; value += 1) {
  hexValueOfCharCode[nibbles.charCodeAt(value)] = value;
  hexValueOfCharCode[nibbles.toUpperCase().charCodeAt(value)] = value;
}
const hexCharCodes = Buffer.from(hexOfByte.join(''), 'latin1');
const scratch = Buffer.alloc(36, '-');
const charIndexOfByte = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

/**
 * The 16 bytes of an id.
 *
 * @throws MillraceError `option-invalid` when the text is not a UUID
 */
export function uuidToBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(16);
  let seen = 0;
  for (let index = 0; index < 16; index += 1) {
    const at = charIndexOfByte[index] as number;
    const high = hexValueOfCharCode[text.charCodeAt(at)] ?? notHex;
    const low = hexValueOfCharCode[text.charCodeAt(at + 1)] ?? notHex;
    seen |= high | low;
    bytes[index] = (high << 4) | low;
  }
  if (seen > 0xf || !hasDashes(text)) throw notUuid(text);
  return bytes;
}

function hasDashes(text: string): boolean {
  return text.length === 36 && text[8] === '-' && text[13] === '-' && text[18] === '-' && text[23] === '-';
}

/**
 * The lower-case text of an id kept as 16 bytes.
 *
 * @throws MillraceError `internal` when there are not exactly 16 bytes
 */
export function bytesToUuid(bytes: Uint8Array): string {
  if (bytes.length !== 16) {
    throw new MillraceError(
      'internal',
      expectedGot({ what: 'id in the database', expected: '16 bytes', got: bytes.length }),
    );
  }
  for (let index = 0; index < 16; index += 1) {
    const at = charIndexOfByte[index] as number;
    const code = (bytes[index] as number) * 2;
    scratch[at] = hexCharCodes[code] as number;
    scratch[at + 1] = hexCharCodes[code + 1] as number;
  }
  return scratch.toString('latin1');
}

/** The text of an id kept as 32 lower-case hexadecimal digits. */
export function hexToUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function notUuid(text: string): MillraceError {
  return new MillraceError(
    'option-invalid',
    expectedGot({
      what: 'id',
      expected: 'a full id such as 0199c0de-7a11-7abc-9def-0123456789ab',
      got: text,
      fix: 'The API takes full ids only.',
    }),
    { details: { got: text } },
  );
}
