/*
 * The events of one job for one reader: its status as it changes, and the lines and progress of its handler.
 *
 * A round reads first what became of the job and then its lines, so what was written before the end is told before the
 * end is. Lines are read by their place in the log: none is missed or told twice, within a stream or across reconnects.
 * A status is told when it differs from the one told last; of two changes between two rounds only the later one is seen.
 */
import { type JobListing, toListing } from '../../../client/job-view.js';
import { type JobProgress, progressOf } from '../../../client/progress-watcher.js';
import { isFinal } from '../../../core/job-status.js';
import type { LogLine } from '../../../storage/job-log.js';
import type { JobEnding, JobRecord } from '../../../storage/job-record.js';
import type { Storage } from '../../../storage/storage.js';
import { type EventPlace, formatEventId } from './event-id.js';
import type { SharedEndings } from './shared-endings.js';

export interface FeedEvent {
  readonly id: string;
  readonly event: 'status' | 'log' | 'progress' | 'gone';
  readonly data: StatusData | LineData | JobProgress | { readonly id: string };
}

interface StatusData extends JobListing {
  readonly reason: string | null;
  readonly stopRequest: JobRecord['stopRequest'];
}

interface LineData {
  readonly cursor: string;
  readonly at: Date;
  readonly level: LogLine['level'];
  readonly text: string;
}

export interface FeedRound {
  readonly events: readonly FeedEvent[];
  /** `more`: there is more to be read at once. `ended`: nothing follows any more. */
  readonly next: 'wait' | 'more' | 'ended';
}

const linesPerRound = 200;

export class JobFeed {
  readonly #id: string;
  readonly #storage: Storage;
  readonly #endings: SharedEndings;
  #place: EventPlace;

  constructor(id: string, { storage, endings, place }: FeedParts) {
    this.#id = id;
    this.#storage = storage;
    this.#endings = endings;
    this.#place = place;
  }

  /** Whether the reader had been told the end before. */
  get wasToldEnd(): boolean {
    const status = this.#place.mark?.split('.', 1)[0];
    return status === 'completed' || status === 'buried' || status === 'cancelled';
  }

  async round(): Promise<FeedRound> {
    const ending = await this.#endings.read(this.#id);
    if (ending === undefined) {
      return { events: [{ id: '~gone', event: 'gone', data: { id: this.#id } }], next: 'ended' };
    }
    const lines = await this.#lines();
    // A long log goes out in parts, and the status behind it once all of it has gone out.
    if (lines.length === linesPerRound) return { events: this.#told(lines), next: 'more' };
    const record = await this.#changed(ending, lines);
    // It went on while it was looked at: the next round sees it as it is then, with the lines before it.
    if (record !== null && isFinal(record.status) && !isFinal(ending.status)) {
      return { events: this.#told(lines), next: 'more' };
    }
    const next = isFinal(ending.status) ? 'ended' : 'wait';
    if (record === null) return { events: this.#told(lines), next };
    const isBegun = record.status === 'processing';
    const events = isBegun
      ? [this.#statusOf(record), ...this.#told(lines)]
      : [...this.#told(lines), this.#statusOf(record)];
    return { events, next };
  }

  #lines(): Promise<LogLine[]> {
    const { line: after } = this.#place;
    return this.#storage.log(this.#id, {
      limit: linesPerRound,
      ...(after === undefined ? {} : { after }),
    });
  }

  /** The job where its status is to be told, else null. It is read whole only where something says that it changed. */
  async #changed({ status }: JobEnding, lines: readonly LogLine[]): Promise<JobRecord | null> {
    const { mark, line } = this.#place;
    const hasNewLease = lines.some(({ cursor }) => line === undefined || leaseOf(cursor) !== leaseOf(line));
    if (mark?.split('.', 1)[0] === status && !hasNewLease) return null;
    const record = await this.#storage.job(this.#id);
    return record === null || markOf(record) === mark ? null : record;
  }

  #statusOf(record: JobRecord): FeedEvent {
    this.#place = { line: this.#place.line, mark: markOf(record) };
    const { reason, stopRequest } = record;
    return this.#event('status', { ...toListing(record), reason, stopRequest });
  }

  #told(lines: readonly LogLine[]): FeedEvent[] {
    return lines.flatMap((line) => {
      this.#place = { line: line.cursor, mark: this.#place.mark };
      if (line.kind === 'progress') return progressOf(line).map((data) => this.#event('progress', data));
      const { cursor, atMs, level, text } = line;
      return [this.#event('log', { cursor, at: new Date(atMs), level, text })];
    });
  }

  #event(event: FeedEvent['event'], data: FeedEvent['data']): FeedEvent {
    return { id: formatEventId(this.#place), event, data };
  }
}

interface FeedParts {
  readonly storage: Storage;
  readonly endings: SharedEndings;
  readonly place: EventPlace;
}

const leaseOf = (cursor: string): string => cursor.slice(0, cursor.lastIndexOf('.'));

/** The same as long as nothing happened to the job that a reader is told. */
function markOf({ status, attempts, deaths, claimedAtMs, stopRequest }: JobRecord): string {
  return [status, attempts, deaths, claimedAtMs ?? 0, stopRequest ?? 'none'].join('.');
}
