import { bytesToUuid } from '../../internal/uuid.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlOutcome } from '../settlement.js';
import { statusOfCode } from '../sql/status-codes.js';
import { type Change, Changes, carryOut } from './changes.js';
import { scopeCode, stopCode } from './codes.js';
import type { Context } from './context.js';
import { type Marks, noMarks } from './marks.js';
import { buriedAfter, readPaused, requestStop, setPausedStatement } from './queries/control.js';
import { type KeyRow, uniqueKeyText, writeKeys } from './queries/keys.js';
import type { Placed } from './queries/places.js';
import { lockHolders } from './unique-keys.js';
import { wakeQueues } from './wake.js';

/** Buried jobs that are retried in one transaction. */
const retryBatch = 200;

export async function retry(context: Context, id: string): Promise<ControlOutcome> {
  const outcomes = await retryAll(context, [id]);
  return outcomes[0] ?? 'not-found';
}

export async function retryBuried(
  context: Context,
  request: { queue?: string; limit: number },
): Promise<{ retried: number; duplicates: number }> {
  const answer = { retried: 0, duplicates: 0 };
  const queueIds = await queuesOf(context, request.queue);
  let after: string | null = null;
  while (answer.retried < request.limit && queueIds.length > 0) {
    const count = Math.min(request.limit - answer.retried, retryBatch);
    const [page] = await context.side.send(
      'reading buried jobs',
      buriedAfter(context.t, queueIds, after, count),
    );
    const ids = (page?.rows ?? []).map(([id]) => bytesToUuid(id as Buffer));
    after = ids.at(-1) ?? null;
    for (const outcome of await retryAll(context, ids)) {
      if (outcome === 'done') answer.retried += 1;
      if (outcome === 'duplicate') answer.duplicates += 1;
    }
    if (ids.length < count) break;
  }
  return answer;
}

async function queuesOf(context: Context, queue: string | undefined): Promise<number[]> {
  if (queue === undefined) return context.queues.all();
  const id = await context.queues.find(queue);
  return id === undefined ? [] : [id];
}

async function retryAll(context: Context, ids: readonly string[]): Promise<ControlOutcome[]> {
  if (ids.length === 0) return [];
  const { outcomes, woken } = await context.main.transaction('retry', async (tx) => {
    const changes = await Changes.begin(context, tx);
    const placed = await changes.lock(ids.map((id) => id.toLowerCase()));
    const jobs = ids.map((id) => placed.get(id.toLowerCase()));
    return { outcomes: await retryPlaced(changes, jobs), woken: changes.wokenQueues };
  });
  await wakeQueues(context, woken);
  return outcomes;
}

/** Of several that want one key the first gets it. */
export async function retryPlaced(
  changes: Changes,
  jobs: readonly (Placed | undefined)[],
): Promise<ControlOutcome[]> {
  const duplicates = await takeKeysAgain(changes, jobs);
  const verdicts = jobs.map((job) => verdictOf(changes, job, duplicates));
  await changes.apply(verdicts.flatMap(({ change }) => (change === null ? [] : [change])));
  return verdicts.map(({ outcome }) => outcome);
}

function verdictOf(
  changes: Changes,
  job: Placed | undefined,
  duplicates: ReadonlySet<string>,
): { outcome: ControlOutcome; change: Change | null } {
  if (job === undefined) return { outcome: 'not-found', change: null };
  if (job.place === 'ready') {
    const marks = {
      ...(job.marks ?? noMarks(job.due, job.line)),
      line: job.line,
      due: changes.nowMs,
      reason: null,
    };
    return { outcome: 'done', change: { to: 'ready', job, marks } };
  }
  if (!isRetryable(job)) return { outcome: 'not-allowed', change: null };
  if (duplicates.has(job.id)) return { outcome: 'duplicate', change: null };
  return { outcome: 'done', change: { to: 'ready', job, marks: freshMarks(job, changes.nowMs) } };
}

function isRetryable(job: Placed): boolean {
  const status = job.final === null ? null : statusOfCode[job.final.status];
  return status === 'buried' || status === 'cancelled';
}

/** A fresh set of attempts; the errors are kept. */
function freshMarks(job: Placed, nowMs: number): Marks {
  return {
    ...noMarks(nowMs, job.homeLine),
    isSpent: true,
    claimedAt: job.final?.claimedAt ?? null,
    workerId: job.final?.workerId ?? null,
    errors: job.marks?.errors ?? null,
  };
}

/** Takes the keys of scope `active` again; answers the jobs whose key another one holds. */
async function takeKeysAgain(changes: Changes, jobs: readonly (Placed | undefined)[]): Promise<Set<string>> {
  const wanted = jobs.flatMap((job): KeyRow[] => {
    if (job === undefined || !isRetryable(job) || job.unique?.scope !== scopeCode.active) return [];
    return [
      {
        key: uniqueKeyText(job.unique.key),
        jobId: job.id,
        scope: scopeCode.active,
        untilMs: null,
        inputHash: null,
      },
    ];
  });
  const holders = await lockHolders(changes, wanted, new Set(wanted.map(({ jobId }) => jobId)));
  const duplicates = new Set<string>();
  const taken: KeyRow[] = [];
  for (const row of wanted) {
    if (holders.has(row.key)) duplicates.add(row.jobId);
    else {
      holders.set(row.key, row);
      taken.push(row);
    }
  }
  if (taken.length > 0) await changes.tx.send(writeKeys(changes.context.t, taken));
  return duplicates;
}

/** What an operator asks of one job: at once where nothing runs, else as a request to its worker. */
export async function stop(context: Context, id: string, request: StopRequest): Promise<ControlOutcome> {
  const { outcome, woken } = await context.main.transaction(request, async (tx) => {
    const changes = await Changes.begin(context, tx);
    const job = (await changes.lock([id.toLowerCase()])).get(id.toLowerCase());
    return { outcome: await stopPlaced(changes, job, request), woken: changes.wokenQueues };
  });
  await wakeQueues(context, woken);
  return outcome;
}

async function stopPlaced(
  changes: Changes,
  job: Placed | undefined,
  request: StopRequest,
): Promise<ControlOutcome> {
  if (job === undefined) return 'not-found';
  if (job.lease !== null) {
    await changes.tx.send(requestStop(changes.context.t, job.id, stopCode[request]));
    return 'requested';
  }
  if (job.final !== null && request !== 'delete') return 'already-final';
  await changes.apply([carryOut(job, stopCode[request], null)]);
  return 'done';
}

export async function setPaused(context: Context, queue: string, paused: boolean): Promise<void> {
  const id = await context.queues.id(queue);
  await context.side.send('pausing', setPausedStatement(context.t, id, paused));
  if (!paused) context.notifier.wake([queue]);
}

export async function pausedQueues(context: Context): Promise<string[]> {
  const [result] = await context.side.send('reading paused queues', readPaused(context.t));
  const ids = (result?.rows ?? []).map(([id]) => id as number);
  await context.queues.load(ids);
  return ids.map((id) => context.queues.name(id)).sort();
}
