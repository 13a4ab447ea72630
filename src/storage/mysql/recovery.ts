import { bytesToUuid } from '../../internal/uuid.js';
import type { ExpiredLease, TakeBack, TakeBackOutcome } from '../settlement.js';
import { statusCodes } from '../sql/status-codes.js';
import { ensureAloneLanes } from './alone-lanes.js';
import { type Change, Changes, carryOut, type FinalStatus, marksAfterLease } from './changes.js';
import { aloneLine, policyCode, stopOf } from './codes.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { marksOf, marksWidth } from './marks.js';
import { expiredStatement, openEdgesWithEnds, strandedStatement, sweepBound } from './queries/leases.js';
import type { Placed } from './queries/places.js';
import { wakeQueues } from './wake.js';

export async function expired(
  context: Context,
  request: { expiredForMs: number; limit: number; after?: { leaseUntilMs: number; id: string } },
): Promise<ExpiredLease[]> {
  const [result] = await context.side.send(
    'reading expired leases',
    expiredStatement(context.t, request, context.now()),
  );
  const rows = result?.rows ?? [];
  await context.queues.load(rows.map((row) => row[marksWidth + 2] as number));
  await context.names.load(
    rows.flatMap((row) => [row[marksWidth + 3] as number, row[marksWidth + 4] as number]),
  );
  return rows.map((row) => expiredLease(context, row));
}

function expiredLease(context: Context, row: readonly unknown[]): ExpiredLease {
  const marks = marksOf(row);
  const [id, token, ...numbers] = row.slice(marksWidth) as [Buffer, Buffer, ...number[]];
  const [
    queueId = 0,
    nameId = 0,
    workerId = 0,
    started,
    line,
    stop = 0,
    until = 0,
    maxAttempts = 0,
    now = 0,
  ] = numbers;
  return {
    id: bytesToUuid(id),
    token: token.toString('hex'),
    name: context.names.name(nameId),
    queue: context.queues.name(queueId),
    workerId: context.names.name(workerId),
    started: started === 1,
    ranAlone: line === aloneLine,
    attempts: marks?.attempts ?? 0,
    maxAttempts,
    deaths: marks?.deaths ?? 0,
    lapses: marks?.lapses ?? 0,
    errors: marks?.errors ?? null,
    stopRequest: stopOf(stop),
    leaseUntilMs: until,
    expiredForMs: Number(now) - until,
  };
}

export async function takeBack(context: Context, decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
  if (decisions.length === 0) return [];
  const alone = decisions.filter((decision) => decision.kind === 'died' && decision.alone);
  await ensureAloneLanes(
    context,
    alone.map(({ id }) => id),
  );
  const { outcomes, woken } = await context.main.transaction('taking leases back', async (tx) => {
    const changes = await Changes.begin(context, tx);
    const placed = await changes.lock(decisions.map(({ id }) => id.toLowerCase()));
    const made = new Map<string, Change>();
    const judged = decisions.map((decision): TakeBackOutcome => {
      const job = placed.get(decision.id.toLowerCase());
      const change = job === undefined || made.has(job.id) ? null : changeFor(job, decision, changes.nowMs);
      if (change === null) return 'renewed';
      made.set(change.job.id, change);
      return 'done';
    });
    await changes.apply([...made.values()]);
    return { outcomes: judged, woken: changes.wokenQueues };
  });
  await wakeQueues(context, woken);
  return outcomes;
}

/** Null when the lease is not the one that the rescuer saw. */
function changeFor(job: Placed, decision: TakeBack, nowMs: number): Change | null {
  const { lease } = job;
  if (lease?.token !== decision.token.toLowerCase() || lease.leaseUntil !== decision.leaseUntilMs)
    return null;
  // Nobody withdraws a request, so a rescuer that saw one and a job that has none don't go together.
  if (decision.kind === 'stopped' && lease.stop === 0) return null;
  const marks = marksAfterTakeBack(job, decision, nowMs);
  if (lease.stop !== 0) return carryOut(job, lease.stop, null, marks);
  if (decision.kind === 'poison')
    return { to: 'final', job, status: 'buried', reason: 'poison', token: null, marks };
  return { to: 'ready', job, marks };
}

function marksAfterTakeBack(
  job: Placed,
  decision: TakeBack,
  nowMs: number,
): ReturnType<typeof marksAfterLease> {
  const { lapses = 0, deaths = 0 } = job.marks ?? {};
  switch (decision.kind) {
    case 'lapsed':
      return marksAfterLease(job, { lapses: lapses + 1 });
    case 'poison':
      return marksAfterLease(job, { deaths: deaths + 1, errors: decision.errors });
    case 'stopped':
      return marksAfterLease(job, {});
    case 'died':
      return marksAfterLease(job, {
        deaths: deaths + 1,
        errors: decision.errors,
        // A job that its stop request ends keeps due time and line as they were.
        ...(job.lease?.stop === 0 ? { due: nowMs + decision.delayMs } : {}),
        ...(job.lease?.stop === 0 && decision.alone ? { line: aloneLine } : {}),
      });
  }
}

/** Blocked jobs that one statement of the sweep looks at. */
const sweepRows = 5_000;

export async function releaseBlocked(context: Context, limit: number): Promise<number> {
  const { t, side } = context;
  let moved = 0;
  let after: string | null = null;
  while (moved < limit) {
    const [bound] = await side.send('looking for stranded jobs', sweepBound(t, after, sweepRows));
    const until = idsOf(bound)[0] ?? null;
    const left = limit - moved;
    const [stranded] = await side.send('looking for stranded jobs', strandedStatement(t, after, until, left));
    moved += await release(context, idsOf(stranded));
    if (until === null) break;
    after = until;
  }
  return moved;
}

const idsOf = (result: Result | undefined): string[] =>
  (result?.rows ?? []).map(([id]) => bytesToUuid(id as Buffer));

async function release(context: Context, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const woken = await context.main.transaction('releasing blocked jobs', async (tx) => {
    const changes = await Changes.begin(context, tx);
    const [edges] = await tx.send(openEdgesWithEnds(context.t, ids));
    const rows = (edges?.rows ?? []) as [Buffer, Buffer, number, number | null][];
    const failing = new Map<string, FinalStatus>();
    for (const [child, , policy, status] of rows) {
      if (status === statusCodes.completed || policy === policyCode.run) continue;
      failing.set(bytesToUuid(child), policy === policyCode.bury ? 'buried' : 'cancelled');
    }
    await changes.endWaitingOn(ids, failing, [...new Set(rows.map(([, parent]) => bytesToUuid(parent)))]);
    return changes.wokenQueues;
  });
  await wakeQueues(context, woken);
  return ids.length;
}
