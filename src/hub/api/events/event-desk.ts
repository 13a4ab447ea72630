import type { FastifyReply } from 'fastify';
import type { Millrace } from '../../../client/millrace.js';
import { MillraceError } from '../../../internal/errors.js';
import type { Logger } from '../../../internal/logger.js';
import { parseEventId } from './event-id.js';
import { EventStream, type StreamTimes } from './event-stream.js';
import { JobFeed } from './job-feed.js';
import { SharedEndings } from './shared-endings.js';

export interface EventDeskOptions {
  readonly client: Millrace;
  readonly logger: Logger;
  /** Streams at once; who is turned away comes back. */
  readonly mostStreams: number;
  readonly times?: StreamTimes | undefined;
}

/** All streams of events of one hub. */
export class EventDesk {
  readonly #options: EventDeskOptions;
  readonly #endings: SharedEndings;
  readonly #streams = new Set<EventStream>();
  /** Counts those that are still being opened as well. */
  #open = 0;
  #isClosed = false;

  constructor(options: EventDeskOptions) {
    this.#options = options;
    this.#endings = new SharedEndings(() => options.client.internals.storage());
  }

  get open(): number {
    return this.#open;
  }

  /**
   * Streams the events of a job as the answer, from behind `since`. Answers 204 where the reader has been told the end:
   * that is how it learns not to come back.
   *
   * @throws MillraceError before anything was sent: `job-not-found`, `cursor-invalid`, `hub-busy`, those of the database
   */
  async answer(id: string, since: string | undefined, reply: FastifyReply): Promise<void> {
    const { client, mostStreams, logger, times } = this.#options;
    const jobId = client.handle(id).id;
    const place = parseEventId(since);
    if (this.#isClosed) throw new MillraceError('closed', 'the hub stops');
    if (this.#open >= mostStreams) {
      throw new MillraceError('hub-busy', `${mostStreams} streams of events are open on this hub already`);
    }
    this.#open += 1;
    try {
      const storage = await client.internals.storage();
      const feed = new JobFeed(jobId, { storage, endings: this.#endings, place });
      const wasToldEnd = feed.wasToldEnd;
      const first = await feed.round();
      const isGone = first.events.some(({ event }) => event === 'gone');
      if (isGone && place.mark !== 'gone') throw notFound(jobId);
      if (isGone || (wasToldEnd && first.next === 'ended' && first.events.length === 0)) {
        await reply.code(204).send();
        return;
      }
      begin(reply);
      const stream = new EventStream(reply.raw, { feed, logger, times });
      this.#streams.add(stream);
      await stream.run(first).finally(() => this.#streams.delete(stream));
    } finally {
      this.#open -= 1;
    }
  }

  /** Ends every stream, and takes no more. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.close();
  }
}

function begin(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    // What the guard has set stays.
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Of proxies: hand on what comes when it comes.
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
}

function notFound(id: string): MillraceError {
  return new MillraceError('job-not-found', `there is no job ${id}`, { details: { id } });
}
