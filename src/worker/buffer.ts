/**
 * Claimed jobs that wait for a slot: in strict queue order, and within a queue in the order storage gave them, so that a
 * job of an earlier queue overtakes whatever is buffered of later ones. Where queues have shares, all stand in one line as
 * they come. What is here is under lease but not started.
 */
import type { ClaimedJob, Lease } from '../storage/claimed-job.js';

export interface BufferedJob {
  readonly job: ClaimedJob;
  /** When storage had answered the claim that brought it: monotonic ms, comparable between threads. */
  readonly claimedAtMs: number;
  /** When storage was first asked for it, or for the last renewal that is known to hold for it: its lease is no older. Monotonic ms. */
  readonly askedAtMs: number;
}

interface Line {
  /** Null: every queue. */
  readonly queue: string | null;
  /** Null before `head`: a job that was taken must not be kept alive by a buffer that is refilled before it is empty. */
  jobs: (BufferedJob | null)[];
  head: number;
}

/** So many places that were taken are given up at once. */
const compactAt = 1_000;

export class Buffer {
  readonly #lines: readonly Line[];
  #size = 0;

  /** @param queues in strict order; null: in the order in which they are added */
  constructor(queues: readonly string[] | null) {
    this.#lines = (queues ?? [null]).map((queue) => ({ queue, jobs: [], head: 0 }));
  }

  get size(): number {
    return this.#size;
  }

  add(jobs: readonly ClaimedJob[], times: Omit<BufferedJob, 'job'>): void {
    const single = this.#lines.length === 1 ? this.#lines[0] : undefined;
    for (const job of jobs) {
      const line = single ?? this.#lines.find((candidate) => candidate.queue === job.queue);
      if (line === undefined)
        throw new Error(`claimed a job of queue "${job.queue}", which was not asked for`);
      line.jobs.push({ job, ...times });
    }
    this.#size += jobs.length;
  }

  /** The leases that storage renewed when it was asked at this moment. What came since is not judged by it. */
  renew(held: readonly Lease[], askedAtMs: number): void {
    if (this.#size === 0) return;
    const tokens = new Map(held.map(({ id, token }) => [id, token]));
    for (const line of this.#lines) {
      line.jobs = line.jobs.map((buffered) => {
        if (buffered === null || tokens.get(buffered.job.id) !== buffered.job.token) return buffered;
        return { ...buffered, askedAtMs: Math.max(buffered.askedAtMs, askedAtMs) };
      });
    }
  }

  /** The next to start; undefined where there is none, or it does not fit. */
  shift(fits: (next: BufferedJob) => boolean = () => true): BufferedJob | undefined {
    if (this.#size === 0) return undefined;
    for (const line of this.#lines) {
      const next = line.jobs[line.head];
      if (next === undefined || next === null) continue;
      if (!fits(next)) return undefined;
      line.jobs[line.head] = null;
      line.head += 1;
      this.#size -= 1;
      if (line.head === line.jobs.length || line.head === compactAt) {
        line.jobs = line.jobs.slice(line.head);
        line.head = 0;
      }
      return next;
    }
    return undefined;
  }

  /** Takes out all that `unwanted` names. */
  remove(unwanted: (buffered: BufferedJob) => boolean): BufferedJob[] {
    const removed: BufferedJob[] = [];
    for (const line of this.#lines) {
      const kept: BufferedJob[] = [];
      for (const buffered of waitingIn(line)) (unwanted(buffered) ? removed : kept).push(buffered);
      line.jobs = kept;
      line.head = 0;
    }
    this.#size -= removed.length;
    return removed;
  }

  *[Symbol.iterator](): Iterator<BufferedJob> {
    for (const line of this.#lines) yield* waitingIn(line);
  }
}

function waitingIn({ jobs, head }: Line): BufferedJob[] {
  return jobs.slice(head) as BufferedJob[];
}
