import type { ClaimedJob, ClaimRequest, Take } from '../claimed-job.js';

/** One claim: what it has so far. */
export class ClaimRound {
  readonly request: ClaimRequest;
  readonly queueGates: ReadonlyMap<string, number>;
  readonly had: number[];
  /** Nothing was taken before: what is held under the token is a repeat. */
  isFresh: boolean;
  #jobs: ClaimedJob[];

  constructor(request: ClaimRequest, had: readonly ClaimedJob[], queueGates: ReadonlyMap<string, number>) {
    this.request = request;
    this.queueGates = queueGates;
    this.had = request.takes.map(() => 0);
    this.isFresh = had.length === 0;
    this.#jobs = [];
    this.add(had);
  }

  get jobs(): ClaimedJob[] {
    return this.#jobs;
  }

  get isFull(): boolean {
    return this.request.takes.every((_, index) => !this.isShort(index));
  }

  /** Whether bounded jobs could still be added. */
  isShort(index: number): boolean {
    const take = this.request.takes[index] as Take;
    return (this.had[index] ?? 0) < Math.min(take.start, this.request.alone ? 1 : take.limit);
  }

  add(jobs: readonly ClaimedJob[]): void {
    const { takes } = this.request;
    for (const job of jobs) {
      const index = takeOf(job, takes);
      this.had[index] = (this.had[index] ?? 0) + 1;
    }
    this.isFresh &&= jobs.length === 0;
    this.#jobs.push(...jobs);
    if (takes.length > 1) {
      const places = new Map(this.#jobs.map((job) => [job, takeOf(job, takes)]));
      this.#jobs.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
    }
  }
}

/** The take that a claimed job fits; takes are disjoint. */
export function takeOf({ queue, name }: ClaimedJob, takes: readonly Take[]): number {
  if (takes.length === 1) return 0;
  return takes.findIndex(({ queues, names }) => queues.includes(queue) && names.includes(name));
}
