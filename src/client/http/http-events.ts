import { MillraceError } from '../../internal/errors.js';
import type { HttpCalls } from './http-calls.js';

export interface ServerEvent {
  readonly id: string;
  /** `end`: nothing follows any more. */
  readonly event: string;
  readonly data: string;
}

/** One stream of events of a job, until it ends or is cut. @throws MillraceError as `HttpCalls.stream`, `hub-unreachable` */
export async function* eventsOf(
  calls: HttpCalls,
  { id, lastId, signal }: { readonly id: string; readonly lastId: string; readonly signal: AbortSignal },
): AsyncGenerator<ServerEvent, void, undefined> {
  const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
  const answer = await calls.stream(`/jobs/${id}/events`, headers, signal);
  if (answer.status === 204 || answer.body === null) {
    yield { id: lastId, event: 'end', data: '' };
    return;
  }
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of chunksOf(answer.body)) {
    text += decoder.decode(part, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) yield* eventOf(frame);
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const part of body) yield part;
  } catch (error) {
    throw new MillraceError('hub-unreachable', 'the stream of events was cut', { cause: error });
  }
}

/** Comments and fields without data are no events. */
function* eventOf(frame: string): Generator<ServerEvent, void, undefined> {
  const fields = new Map<string, string>();
  for (const line of frame.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).replace(/^ /, ''));
  }
  const data = fields.get('data');
  if (data !== undefined) yield { id: fields.get('id') ?? '', event: fields.get('event') ?? '', data };
}
