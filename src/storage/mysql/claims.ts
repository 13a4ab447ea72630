import { MillraceError } from '../../internal/errors.js';
import { bytesToUuid } from '../../internal/uuid.js';
import type { ClaimedJob } from '../claimed-job.js';
import { unbounded } from '../job-limit.js';
import type { SingleTake } from '../single-take.js';
import { aloneLine, ordinaryLine } from './codes.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { type ClaimPlan, claimStatements, type QueueRead } from './queries/claim.js';
import { hexDigits } from './sql.js';

/** Lanes are added once per queue, priority and name: whoever finds them moved on this often in a row has a broken table. */
const mostReloads = 20;
/** Beyond so many ranges the plain index with a filter is read instead: slower behind foreign jobs, never wrong. */
const mostRangesByName = 256;

const noRanks: ReadonlySet<number> = new Set();

type ClaimedRow = readonly [
  id: Buffer,
  queueId: number,
  rnk: number,
  due: number,
  nameId: number,
  flags: number,
  started: number,
  claimedAt: number,
  workerId: number,
  payload: string,
  maxAttempts: number,
  retention: number | null,
  createdAt: number,
  attempts: number | null,
  deaths: number | null,
  lapses: number | null,
  errors: string | null,
  version: number,
];

/** A claim that is ready to be sent, alone or behind a settle. */
export interface PreparedClaim {
  readonly request: SingleTake;
  readonly plan: ClaimPlan;
  readonly queueIds: readonly number[];
}

export async function claim(context: Context, request: SingleTake): Promise<ClaimedJob[]> {
  for (let tries = 0; tries < mostReloads; tries += 1) {
    const prepared = await prepareClaim(context, request);
    const results = await context.main.sendTransaction('claim', claimStatements(context.t, prepared.plan));
    const jobs = await readClaim(context, prepared, results);
    if (jobs !== undefined) return jobs;
  }
  throw new MillraceError(
    'internal',
    `claim: the lanes of ${request.queues.join(', ')} changed ${mostReloads} times in a row`,
  );
}

export async function prepareClaim(context: Context, request: SingleTake): Promise<PreparedClaim> {
  const { lanes } = context;
  const queueIds = await context.queues.ids([...new Set(request.queues)]);
  const nameIds = await context.names.ids([...new Set(request.names)]);
  const [workerId = 0] = await context.names.ids([request.workerId]);
  const unknown = queueIds.filter((id) => lanes.of(id) === undefined);
  if (unknown.length > 0) await lanes.load(unknown);
  const reads: QueueRead[] = [];
  for (const queueId of queueIds) reads.push(await readOf(context, request, queueId, nameIds));
  const limit = request.alone ? Math.min(request.limit, 1) : request.limit;
  const plan: ClaimPlan = {
    token: hexDigits(request.token, 16),
    workerId,
    leaseMs: request.leaseMs,
    limit,
    start: request.start,
    alone: request.alone,
    now: context.now(),
    reads: reads.filter((read) => read.lanes.length > 0),
    lanesAreCurrent: lanes.areCurrent(queueIds),
  };
  return { request, plan, queueIds };
}

async function readOf(
  context: Context,
  request: SingleTake,
  queueId: number,
  nameIds: readonly number[],
): Promise<QueueRead> {
  const line = request.alone ? aloneLine : ordinaryLine;
  const inLine = (context.lanes.of(queueId)?.lanes ?? []).filter((lane) => lane.line === line);
  const known = new Set(nameIds);
  const lanes = inLine.filter(({ nameId }) => known.has(nameId));
  const isShared = lanes.length < inLine.length;
  if (!isShared || lanes.length === 0) return { queueId, lanes, isShared, foreignRanks: noRanks };
  const foreignRanks = await context.lanes.foreignRanks(queueId, line, nameIds);
  const ranges = lanes.filter(({ rnk }) => foreignRanks.has(rnk)).length;
  return { queueId, lanes, isShared, foreignRanks: ranges > mostRangesByName ? noRanks : foreignRanks };
}

/** The jobs of a claim from the end of its packet; undefined when the lanes were stale: nothing was taken, try again. */
export async function readClaim(
  context: Context,
  prepared: PreparedClaim,
  results: readonly Result[],
): Promise<ClaimedJob[] | undefined> {
  const state = Number(results.at(-1)?.rows[0]?.[0]);
  if (state === 0) {
    await context.lanes.load(prepared.queueIds);
    return undefined;
  }
  const rows = (results.at(-2)?.rows ?? []) as unknown as ClaimedRow[];
  await Promise.all([
    context.queues.load(rows.map((row) => row[1])),
    context.names.load(rows.map((row) => row[4])),
  ]);
  const places = new Map(prepared.queueIds.map((id, index) => [id, index]));
  return rows
    .toSorted((a, b) => inClaimOrder(places, a, b))
    .map((row) => claimedJob(context, prepared.request.token, row));
}

function inClaimOrder(places: ReadonlyMap<number, number>, a: ClaimedRow, b: ClaimedRow): number {
  return (
    (places.get(a[1]) ?? 0) - (places.get(b[1]) ?? 0) ||
    a[2] - b[2] ||
    a[3] - b[3] ||
    Buffer.compare(a[0], b[0])
  );
}

function claimedJob(context: Context, token: string, row: ClaimedRow): ClaimedJob {
  const [
    id,
    queueId,
    rnk,
    due,
    nameId,
    flags,
    started,
    claimedAt,
    workerId,
    payload,
    maxAttempts,
    retention,
  ] = row;
  const job: ClaimedJob = {
    id: bytesToUuid(id),
    token,
    name: context.names.name(nameId),
    queue: context.queues.name(queueId),
    payload,
    version: row[17],
    priority: 0 - rnk,
    attempts: row[13] ?? 0,
    maxAttempts,
    deaths: row[14] ?? 0,
    lapses: row[15] ?? 0,
    started: started === 1,
    errors: row[16],
    createdAtMs: row[12],
    dueAtMs: due,
    ...unbounded,
  };
  context.held.keep(job.id, {
    token,
    queueId,
    nameId,
    due,
    claimedAt,
    workerId,
    flags,
    retentionMs: retention,
  });
  return job;
}
