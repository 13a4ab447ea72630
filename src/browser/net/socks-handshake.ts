/** The bytes of SOCKS 5 (RFC 1928) that a Chrome says to the proxy of its lane: one greeting without credentials, one CONNECT. */
const version = 5;
const noCredentials = 0;
const connect = 1;
const ipv4 = 1;
const domain = 3;
const ipv6 = 4;

export const accepted: Buffer = Buffer.from([version, noCredentials]);

/** Codes of RFC 1928, section 6. */
export const replies = { succeeded: 0, failed: 1, notAllowed: 2, hostUnreachable: 4, refused: 5 } as const;

export type Reply = keyof typeof replies;

export const replyOf = (reply: Reply): Buffer =>
  Buffer.from([version, replies[reply], 0, ipv4, 0, 0, 0, 0, 0, 0]);

/** `more`: it is not whole yet; `wrong`: it is none. */
export type Heard<T> = { readonly value: T; readonly bytes: number } | 'more' | 'wrong';

export function hearGreeting(chunk: Buffer): Heard<null> {
  const [spoken, count] = chunk;
  if (spoken !== undefined && spoken !== version) return 'wrong';
  if (count === undefined || chunk.length < 2 + count) return 'more';
  const offered = chunk.subarray(2, 2 + count);
  return offered.includes(noCredentials) ? { value: null, bytes: 2 + count } : 'wrong';
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export function hearRequest(chunk: Buffer): Heard<Target> {
  if (chunk.length < 5) return 'more';
  const [spoken, command, , kind, first = 0] = chunk;
  if (spoken !== version || command !== connect) return 'wrong';
  const start = kind === domain ? 5 : 4;
  const length = kind === ipv4 ? 4 : kind === ipv6 ? 16 : kind === domain ? first : 0;
  if (length === 0) return 'wrong';
  const end = start + length;
  if (chunk.length < end + 2) return 'more';
  const host = hostOf(chunk.subarray(start, end), kind === domain);
  return { value: { host, port: chunk.readUInt16BE(end) }, bytes: end + 2 };
}

function hostOf(bytes: Buffer, isName: boolean): string {
  if (isName) return bytes.toString('latin1');
  if (bytes.length === 4) return [...bytes].join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return groups.join(':');
}
