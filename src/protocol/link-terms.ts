/** The terms of the worker link: names, limits and close codes that both ends keep. PROTOCOL.md says what they mean. */

/** Asked for and answered in the handshake; any other is refused there. */
export const linkProtocol = 'millrace.v1';

/** What a worker id may be made of. */
export const workerIdPattern = /^[A-Za-z0-9_.:-]{1,100}$/;

/** Path of the link of one worker. */
export const linkPath = (workerId: string): string => `/workers/${encodeURIComponent(workerId)}/link`;

/**
 * A frame, and a message put together from fragments: a text of 1 MB, the largest there may be, is JSON already, and what is
 * escaped in it once more at most doubles it. The rest is for what stands around it.
 */
export const maxFrameBytes = 2 * 1024 ** 2 + 64 * 1024;

/** A ping of the hub that long after the last; told in the welcome. */
export const pingMs = 30_000;

/** Silence, in either direction, after which the socket is dead whatever TCP says; told in the welcome. */
export const silenceMs = 120_000;

/** The first message of a connection must come within this. */
export const helloMs = 10_000;

/** Of a file, in one message. */
export const filePieceBytes = 256 * 1024;

/** Its base64. */
export const filePieceText = Math.ceil(filePieceBytes / 3) * 4;

/** Settlements, jobs of a dispatch, log lines in one message. */
export const mostRows = 1_000;

/**
 * Why a connection was closed. A worker reconnects after every one of them; after `final` ones at the longest wait, since
 * only a person can cure them.
 */
export const closeCodes = {
  /** It said goodbye. */
  normal: 1000,
  /** A frame that breaks RFC 6455. */
  protocol: 1002,
  /** Text that is no UTF-8. */
  notUtf8: 1007,
  /** Larger than `maxFrameBytes`. */
  tooLarge: 1009,
  /** The hub goes down: any hub will do, at once. */
  restart: 1012,
  /** The first message was no hello, or came too late. */
  noHello: 4400,
  /** No token, an unknown one, or one without the worker role. `final` */
  unauthorized: 4401,
  /** Nothing was heard for `silenceMs`. */
  silent: 4408,
  /** A newer connection of this incarnation took its place. The older end does not come back by itself. */
  superseded: 4409,
  /** A version of the protocol this hub does not speak. `final` */
  version: 4426,
  /** More messages than the limits allow. */
  tooMany: 4429,
  /** It did not read what was sent to it. */
  tooSlow: 4430,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

/** Of these a person must be told; waiting cures nothing. */
export const finalCloseCodes: ReadonlySet<number> = new Set([closeCodes.unauthorized, closeCodes.version]);

/** Codes of `failed` that the link itself has; all others are those of `MillraceError`. None of them is retryable. */
export const linkFailures = {
  /** Not JSON, not an object, binary, or a field that is missing, of another type or beyond its limit. */
  invalid: 'message-invalid',
  /** A type that this hub does not know. */
  unknown: 'unknown-message',
  /** A second `hello` after the welcome. */
  outOfOrder: 'out-of-order',
} as const;

/** Messages that a hub can't use, within `badWindowMs`, before it closes with 4429. */
export const mostBadMessages = 100;
export const badWindowMs = 10_000;
