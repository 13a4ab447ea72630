import type { ClaimRequest, Take } from '../claimed-job.js';
import { aloneLine, ordinaryLine } from './codes.js';
import type { Context } from './context.js';
import type { ClaimPlan, QueueRead, TakePlan } from './queries/claim.js';
import { hexDigits } from './sql.js';

/** Beyond so many ranges the plain index with a filter is read instead: slower behind foreign jobs, never wrong. */
const mostRangesByName = 256;

const noRanks: ReadonlySet<number> = new Set();

/** A claim that is ready to be sent, alone or behind a settle. */
export interface PreparedClaim {
  readonly request: ClaimRequest;
  readonly plan: ClaimPlan;
  /** Of all takes, each once. */
  readonly queueIds: readonly number[];
  /** The queues of each take, in their order. */
  readonly takes: readonly PreparedTake[];
}

export interface PreparedTake {
  readonly queueIds: readonly number[];
  readonly nameIds: ReadonlySet<number>;
}

export async function prepareClaim(context: Context, request: ClaimRequest): Promise<PreparedClaim> {
  const [workerId = 0] = await context.names.ids([request.workerId]);
  const takes: TakePlan[] = [];
  const prepared: PreparedTake[] = [];
  for (const take of request.takes) {
    const { plan, queueIds } = await prepareTake(context, take, request.alone);
    takes.push(plan);
    prepared.push({ queueIds, nameIds: new Set(plan.nameIds) });
  }
  const queueIds =
    prepared.length === 1
      ? (prepared[0]?.queueIds ?? [])
      : [...new Set(prepared.flatMap((take) => take.queueIds))];
  const plan: ClaimPlan = {
    token: hexDigits(request.token, 16),
    workerId,
    leaseMs: request.leaseMs,
    now: context.now(),
    takes,
    queueIds,
    lanesAreCurrent: context.lanes.areCurrent(queueIds),
  };
  return { request, plan, queueIds, takes: prepared };
}

async function prepareTake(
  context: Context,
  take: Take,
  alone: boolean,
): Promise<{ plan: TakePlan; queueIds: readonly number[] }> {
  const { lanes } = context;
  const queueIds = await context.queues.ids([...new Set(take.queues)]);
  const nameIds = await context.names.ids([...new Set(take.names)]);
  const unknown = queueIds.filter((id) => lanes.of(id) === undefined);
  if (unknown.length > 0) await lanes.load(unknown);
  const reads: QueueRead[] = [];
  for (const queueId of queueIds) {
    const read = await readOf(context, { queueId, nameIds, line: alone ? aloneLine : ordinaryLine });
    if (read.lanes.length > 0) reads.push(read);
  }
  return { plan: { limit: take.limit, start: take.start, nameIds, reads }, queueIds };
}

async function readOf(
  context: Context,
  { queueId, nameIds, line }: { queueId: number; nameIds: readonly number[]; line: number },
): Promise<QueueRead> {
  const inLine = (context.lanes.of(queueId)?.lanes ?? []).filter((lane) => lane.line === line);
  const known = new Set(nameIds);
  const lanes = inLine.filter(({ nameId }) => known.has(nameId));
  const isShared = lanes.length < inLine.length;
  if (!isShared || lanes.length === 0) return { queueId, lanes, isShared, foreignRanks: noRanks };
  const foreignRanks = await context.lanes.foreignRanks(queueId, line, nameIds);
  const ranges = lanes.filter(({ rnk }) => foreignRanks.has(rnk)).length;
  return { queueId, lanes, isShared, foreignRanks: ranges > mostRangesByName ? noRanks : foreignRanks };
}
