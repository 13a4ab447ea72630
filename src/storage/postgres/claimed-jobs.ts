import type { ClaimedJob } from '../claimed-job.js';
import { uuidArray } from './arrays.js';
import { boundsOf } from './bounds.js';
import { type ClaimQueries, fieldSeparator, rowSeparator } from './queries/claim.js';
import { type Executor, intOf, textOf } from './statement.js';

/** What is fetched at once of an answer too large for one value. */
const partBytes = 16 * 1024 * 1024;

/** Jobs as a claim packs them: ordinary ones, or any, which have their terms with them. */
export function unpack(text: string | null, token: string, kind: 'ordinary' | 'any'): ClaimedJob[] {
  if (text === null) return [];
  return text.split(rowSeparator).map((row) => {
    const f = row.split(fieldSeparator);
    const terms = kind === 'any' ? (f[13] ?? '') : '';
    return {
      id: f[0] ?? '',
      token,
      name: f[1] ?? '',
      queue: f[2] ?? '',
      payload: f[12] ?? '',
      version: Number(f[11]),
      priority: 0 - Number(f[3]),
      attempts: Number(f[4]),
      maxAttempts: Number(f[5]),
      deaths: Number(f[6]),
      lapses: Number(f[7]),
      started: f[8] === 't',
      errors: f[kind === 'any' ? 14 : 13] ?? null,
      createdAtMs: Number(f[9]),
      dueAtMs: Number(f[10]),
      ...boundsOf(terms === '' ? null : terms),
    };
  });
}

/** What is held under a token, or these of it, in parts of a size that one answer can hold. */
export async function fetchHeld(
  executor: Executor,
  queries: ClaimQueries,
  { token, only }: { token: string; only?: ReadonlySet<string> },
): Promise<ClaimedJob[]> {
  const held = await executor.run(queries.heldSizes, [token]);
  const sizes = only === undefined ? held : held.filter(([id]) => only.has(textOf(id)));
  const jobs: ClaimedJob[] = [];
  for (let from = 0; from < sizes.length; ) {
    const ids: string[] = [];
    for (let bytes = 0; from < sizes.length && (ids.length === 0 || bytes < partBytes); from += 1) {
      ids.push(textOf(sizes[from]?.[0]));
      bytes += intOf(sizes[from]?.[1]);
    }
    const rows = await executor.run(queries.heldPart, [token, uuidArray(ids)]);
    for (const [text] of rows) jobs.push(...unpack(text ?? null, token, 'any'));
  }
  return jobs;
}

/** Take by take, and in each by queue, priority, due time and id; mostly they come so already. */
export function inTakeOrder(
  jobs: ClaimedJob[],
  takes: readonly { readonly queues: readonly string[]; readonly names: readonly string[] }[],
): ClaimedJob[] {
  const [only] = takes;
  if (takes.length === 1 && only !== undefined && only.queues.length < 2) return sorted(jobs, compareInQueue);
  const takeOf = (job: ClaimedJob): number =>
    takes.findIndex(({ queues, names }) => queues.includes(job.queue) && names.includes(job.name));
  const places = new Map(
    jobs.map((job) => {
      const take = takes.length === 1 ? 0 : takeOf(job);
      return [job, take * 1_000_000 + (takes[take]?.queues.indexOf(job.queue) ?? 0)];
    }),
  );
  return sorted(jobs, (a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0) || compareInQueue(a, b));
}

function sorted(jobs: ClaimedJob[], compare: (a: ClaimedJob, b: ClaimedJob) => number): ClaimedJob[] {
  for (let index = 1; index < jobs.length; index += 1) {
    if (compare(jobs[index - 1] as ClaimedJob, jobs[index] as ClaimedJob) > 0) return jobs.sort(compare);
  }
  return jobs;
}

const compareInQueue = (a: ClaimedJob, b: ClaimedJob): number =>
  b.priority - a.priority || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1);
