import { inClaimOrder } from '../choose-jobs.js';
import { SortedList } from './sorted-list.js';
import type { MemoryJob } from './state.js';

/** Pending jobs that can or can't run alike, in claim order. */
export interface MemoryLine {
  readonly jobs: SortedList<MemoryJob>;
  /** One of them; what they have in common is read off it. */
  readonly sample: MemoryJob;
  readonly kind: 'ordinary' | 'bounded' | 'alone';
}

const ordinary = '';

/** The pending jobs of one queue: ordinary ones, those that run alone, and a line for each combination of bounds. */
export class WaitingLines {
  readonly #lines = new Map<string, MemoryLine>();

  get lines(): Iterable<MemoryLine> {
    return this.#lines.values();
  }

  lineOf(job: MemoryJob): MemoryLine | undefined {
    return this.#lines.get(lineNameOf(job));
  }

  add(job: MemoryJob): void {
    const name = lineNameOf(job);
    let line = this.#lines.get(name);
    if (line === undefined) {
      const kind = job.alone ? 'alone' : name === ordinary ? 'ordinary' : 'bounded';
      line = { jobs: new SortedList<MemoryJob>(inClaimOrder), sample: job, kind };
      this.#lines.set(name, line);
    }
    line.jobs.add(job);
  }

  remove(job: MemoryJob): void {
    const name = lineNameOf(job);
    const line = this.#lines.get(name);
    line?.jobs.remove(job);
    if (line?.jobs.size === 0) this.#lines.delete(name);
  }

  hasGroup(group: string): boolean {
    for (const { kind, jobs, sample } of this.#lines.values()) {
      if (kind === 'bounded' && sample.limit?.group === group) return true;
      if (kind === 'alone' && [...jobs].some(({ limit }) => limit?.group === group)) return true;
    }
    return false;
  }
}

function lineNameOf({ alone, limit, cost, requires }: MemoryJob): string {
  if (alone) return 'alone';
  if (limit === null && cost === 1 && requires.length === 0) return ordinary;
  return JSON.stringify([limit?.group, limit?.key, limit?.max, cost, requires]);
}
