/*
 * When a worker comes back to its hub, and what it says of the end of a connection. Full jitter, doubling to the cap, for
 * ever; what only a person can cure is tried at the cap. A hub that says it goes down is left for the next one at once,
 * within a second, so that its workers do not all arrive at the same moment.
 */
import { closeCodes, finalCloseCodes } from '../../../protocol/link-terms.js';

/** How a connection ended, or why there was none. */
export interface ConnectionEnd {
  /** Of the close frame; null: it broke off, or never was. */
  readonly code: number | null;
  /** Of the answer to the handshake, where that was no upgrade. */
  readonly httpStatus: number | null;
  readonly text: string;
}

export const reconnectCapMs = 15_000;
const firstMs = 250;
const restartMs = 1_000;

/** @param failures in a row before this one */
export function reconnectWaitMs(end: ConnectionEnd, failures: number, random: number): number {
  if (fixOf(end) !== null) return reconnectCapMs * (0.75 + random / 4);
  if (end.code === closeCodes.restart && failures === 0) return restartMs * random;
  return Math.min(reconnectCapMs, firstMs * 2 ** Math.min(failures, 20)) * random;
}

/** Null: waiting may cure it. */
export function fixOf({ code, httpStatus }: ConnectionEnd): string | null {
  if (code === closeCodes.version || httpStatus === 426 || httpStatus === 400) {
    return 'This hub does not speak the protocol of this worker: bring both to versions that fit';
  }
  if (code === closeCodes.unauthorized || httpStatus === 401 || httpStatus === 403) {
    return 'Give WORKER_SECRET a token of the role worker that this hub knows (millrace token create --role worker)';
  }
  if (httpStatus === 404) return 'There is no hub at this address: correct HUB_URL';
  return code !== null && finalCloseCodes.has(code) ? 'The hub refuses this worker for good' : null;
}

const sentences: Readonly<Record<number, string>> = {
  [closeCodes.normal]: 'the hub closed the connection',
  [closeCodes.restart]: 'the hub goes down',
  [closeCodes.noHello]: 'the hub waited for a hello in vain',
  [closeCodes.unauthorized]: 'the hub does not accept the token',
  [closeCodes.silent]: 'the hub heard nothing for too long',
  [closeCodes.superseded]: 'a newer connection took its place',
  [closeCodes.version]: 'the hub speaks another version of the protocol',
  [closeCodes.tooMany]: 'the hub got more messages than it allows',
  [closeCodes.tooSlow]: 'the hub found that this worker does not read',
};

/** What a close frame means, in words. */
export function closeText(code: number, reason: string): string {
  const sentence = sentences[code] ?? (code === 1006 ? 'the connection broke off' : `closed with ${code}`);
  return reason === '' ? sentence : `${sentence}: ${reason}`;
}
