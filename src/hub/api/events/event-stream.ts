/*
 * One stream of server-sent events. Nothing is read for a reader who has not taken what was sent before, so none can make
 * the hub keep more than a round for it; one who takes nothing for `slowMs` is dropped, and comes back with the id of the
 * last event that reached it.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { isMillraceError } from '../../../internal/errors.js';
import { describeFailure } from '../../../internal/failure.js';
import type { Logger } from '../../../internal/logger.js';
import type { FeedEvent, FeedRound } from './job-feed.js';

export interface StreamTimes {
  readonly beatMs: number;
  readonly slowMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const usualTimes: StreamTimes = Object.freeze({
  beatMs: 15_000,
  slowMs: 30_000,
  firstPauseMs: 100,
  longestPauseMs: 500,
});

const growth = 1.5;
const reconnectMs = 1_000;

export class EventStream {
  readonly #out: ServerResponse;
  readonly #feed: Feed;
  readonly #times: StreamTimes;
  readonly #logger: Logger;
  readonly #gone = new AbortController();

  constructor(out: ServerResponse, { feed, logger, times = usualTimes }: StreamParts) {
    this.#out = out;
    this.#feed = feed;
    this.#times = times;
    this.#logger = logger;
    out.once('close', () => this.#gone.abort());
  }

  /** Ends it; the reader may come back, here or elsewhere. */
  close(): void {
    this.#gone.abort();
    this.#out.end();
  }

  /** Until the job has ended, the reader has gone or `close` is called; never rejects. */
  async run(first: FeedRound): Promise<void> {
    const beat = setInterval(() => this.#out.write(': beat\n\n'), this.#times.beatMs);
    try {
      await this.#send(`retry: ${reconnectMs}\n\n`);
      await this.#loop(first);
      this.#out.end();
    } catch (error) {
      if (!this.#gone.signal.aborted) {
        this.#logger.warn('a stream of events was dropped', { error: describeFailure(error) });
      }
      this.#out.destroy();
    } finally {
      clearInterval(beat);
    }
  }

  async #loop(first: FeedRound): Promise<void> {
    let pauseMs = this.#times.firstPauseMs;
    let round = first;
    while (!this.#gone.signal.aborted) {
      if (round.events.length > 0) await this.#send(round.events.map(frameOf).join(''));
      if (round.next === 'ended') return;
      if (round.next === 'wait') {
        const hadNews = round.events.length > 0;
        pauseMs = hadNews ? this.#times.firstPauseMs : Math.min(this.#times.longestPauseMs, pauseMs * growth);
        await this.#pause(pauseMs);
      }
      round = await this.#round();
    }
  }

  /** A database that is away for a while is an empty round. */
  async #round(): Promise<FeedRound> {
    try {
      return await this.#feed.round();
    } catch (error) {
      if (!isMillraceError(error) || !error.retryable) throw error;
      return { events: [], next: 'wait' };
    }
  }

  async #send(text: string): Promise<void> {
    if (this.#out.write(text) || this.#gone.signal.aborted) return;
    const slow = AbortSignal.timeout(this.#times.slowMs);
    await once(this.#out, 'drain', { signal: AbortSignal.any([slow, this.#gone.signal]) });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#gone.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#gone.signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** What a stream is fed from, round by round. */
interface Feed {
  round(): Promise<FeedRound>;
}

interface StreamParts {
  readonly feed: Feed;
  readonly logger: Logger;
  readonly times?: StreamTimes | undefined;
}

/** JSON has no line breaks of its own. */
function frameOf({ id, event, data }: FeedEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
