import { bytesToUuid } from '../../internal/uuid.js';
import type { ClaimedJob } from '../claimed-job.js';
import { unbounded } from '../job-limit.js';
import type { PreparedClaim, PreparedTake } from './claim-plan.js';
import type { Context } from './context.js';

/** Of `claimedRows`. */
export type ClaimedRow = readonly [
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
  homeLine: number | null,
  line: number,
];

/** The jobs of these rows, in the order that is given, and remembers what settling them needs. */
export async function claimedJobs(
  context: Context,
  token: string,
  rows: readonly ClaimedRow[],
): Promise<ClaimedJob[]> {
  await Promise.all([
    context.queues.load(rows.map((row) => row[1])),
    context.names.load(rows.map((row) => row[4])),
    context.lines.load(rows.map((row) => row[18] ?? 0)),
  ]);
  return rows.map((row) => claimedJob(context, token, row));
}

/** By take, queue, priority, due time and id. */
export function inClaimOrder({ takes }: PreparedClaim, rows: readonly ClaimedRow[]): ClaimedRow[] {
  const [only] = takes;
  if (only === undefined) return [];
  const places = takes.map(({ queueIds }) => new Map(queueIds.map((id, index) => [id, index])));
  const takeOf =
    takes.length === 1 ? () => 0 : (row: ClaimedRow) => takes.findIndex((take) => fits(take, row));
  return rows.toSorted((a, b) => {
    const [takeA, takeB] = [takeOf(a), takeOf(b)];
    return (
      takeA - takeB ||
      (places[takeA]?.get(a[1]) ?? 0) - (places[takeB]?.get(b[1]) ?? 0) ||
      a[2] - b[2] ||
      a[3] - b[3] ||
      Buffer.compare(a[0], b[0])
    );
  });
}

const fits = ({ queueIds, nameIds }: PreparedTake, row: ClaimedRow): boolean =>
  queueIds.includes(row[1]) && nameIds.has(row[4]);

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
  const { limit, cost, requires } = context.lines.line(row[18]) ?? unbounded;
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
    limit,
    cost,
    requires,
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
