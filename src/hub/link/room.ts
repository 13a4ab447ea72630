/**
 * What room a worker has, as its hub reckons it. A want says what was free when it was written, and which assign had been
 * seen by then (`after`); whatever was assigned with a higher number is taken off, however the messages crossed. So a
 * want may come late, twice, or while a claim is on its way, and no slot is filled twice.
 */
import type { WantShape } from '../../protocol/worker-messages.js';
import type { ClaimedJob, Take } from '../../storage/claimed-job.js';

type Given = Pick<ClaimedJob, 'name' | 'queue' | 'started'>;

interface Sent {
  readonly number: number;
  readonly jobs: readonly Given[];
}

/** What of a want is still free. */
export interface OpenRoom {
  readonly takes: readonly Take[];
  /** One job that runs with nothing beside it; then there is one take. */
  readonly alone: boolean;
}

const none: OpenRoom = Object.freeze({ takes: Object.freeze<Take[]>([]), alone: false });

export class Room {
  #want: WantShape | null = null;
  #sent: Sent[] = [];
  #number = 0;
  #open: OpenRoom | null = none;

  /** The number of the last assign. */
  get lastAssign(): number {
    return this.#number;
  }

  /** Takes the place of the want before. */
  replace(want: WantShape): void {
    this.#want = want;
    this.#sent = this.#sent.filter(({ number }) => number > want.after);
    this.#open = null;
  }

  /** That want, if it is still the last one, does not stand. */
  drop(want: WantShape): void {
    if (this.#want !== want) return;
    this.#want = null;
    this.#open = none;
  }

  /** Notes that these were given, and returns the number of the assign that carries them. */
  give(jobs: readonly Given[]): number {
    this.#number += 1;
    if (jobs.length > 0) {
      this.#sent.push({
        number: this.#number,
        jobs: jobs.map(({ name, queue, started }) => ({ name, queue, started })),
      });
      this.#open = null;
    }
    return this.#number;
  }

  /** Free by the last want, less what was given since. */
  get open(): OpenRoom {
    this.#open ??= this.#reckon();
    return this.#open;
  }

  #reckon(): OpenRoom {
    const want = this.#want;
    if (want === null) return none;
    const given = this.#sent.flatMap(({ jobs }) => jobs);
    // Beside what it has got since, nothing runs alone: it says so anew once it has made room.
    if (want.alone) return given.length > 0 ? none : { takes: want.takes, alone: true };
    const left = want.takes.map((take) => ({ ...take }));
    for (const job of given) takeOff(left, job);
    return { takes: left.filter(({ limit }) => limit > 0), alone: false };
  }
}

function takeOff(
  takes: { queues: readonly string[]; names: readonly string[]; limit: number; start: number }[],
  job: Given,
): void {
  const fits = takes.find(({ queues, names }) => names.includes(job.name) && queues.includes(job.queue));
  // A want that was written with other queues or names: the slot that it fills is one of those that take such names.
  const take = fits ?? takes.find(({ names }) => names.includes(job.name));
  if (take === undefined) return;
  take.limit = Math.max(take.limit - 1, 0);
  if (job.started) take.start = Math.max(take.start - 1, 0);
  take.start = Math.min(take.start, take.limit);
}
