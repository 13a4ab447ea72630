import { mostJobsAtOnce } from '../../protocol/http/http-terms.js';
import type { NewJob } from '../../storage/new-job.js';
import { dependencyOrder } from '../dependency-sort.js';
import type { HttpCalls } from './http-calls.js';
import type { HttpDispatch } from './http-dispatch.js';

export interface HttpDispatched {
  readonly id: string;
  readonly deduplicated: boolean;
}

/** Below the 2 MB of a body, with room for what is around the jobs. */
const mostBytes = 1_900_000;

/** Sends jobs in as few requests as their size allows, each after those it waits for; answers in the order given. */
export async function sendMany(calls: HttpCalls, jobs: readonly HttpDispatch[]): Promise<HttpDispatched[]> {
  const order = dependencyOrder(jobs as unknown as readonly NewJob[]) ?? jobs.map((_, index) => index);
  const answers: HttpDispatched[] = new Array(jobs.length);
  for (const indexes of parts(order, jobs)) {
    const part = indexes.map((index) => jobs[index] as HttpDispatch);
    const body = `{"jobs":[${part.map(({ text }) => text).join(',')}]}`;
    const { body: told, repeats } = await calls.send({
      method: 'POST',
      path: '/jobs/many',
      body,
      isRepeatable: true,
    });
    for (const [offset, answer] of (told.jobs as HttpDispatched[]).entries()) {
      answers[indexes[offset] as number] = ownRepeat(answer, part[offset]?.id, repeats);
    }
  }
  return answers;
}

/** A job that an earlier try of this very call had made was not there before. */
export function ownRepeat(told: HttpDispatched, ownId: string | undefined, repeats: number): HttpDispatched {
  return repeats > 0 && told.id === ownId ? { id: told.id, deduplicated: false } : told;
}

function parts(order: readonly number[], jobs: readonly HttpDispatch[]): number[][] {
  const found: number[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const index of order) {
    const size = Buffer.byteLength(jobs[index]?.text ?? '') + 1;
    const last = found.at(-1);
    if (last === undefined || bytes + size > mostBytes || last.length === mostJobsAtOnce) {
      found.push([index]);
      bytes = size;
    } else {
      last.push(index);
      bytes += size;
    }
  }
  return found;
}
