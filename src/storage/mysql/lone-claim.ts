/*
 * The claim of one job that must run alone. Such jobs stand in a line of their own, whatever line they were dispatched
 * into; what that one bounds holds for them all the same. They are few: the first ones are read, and the first that can
 * go on is taken by its place.
 */
import { bytesToUuid } from '../../internal/uuid.js';
import { hasRoom } from '../occupancy.js';
import type { PreparedClaim } from './claim-plan.js';
import type { ClaimedRow } from './claimed-rows.js';
import { aloneLine } from './codes.js';
import type { Context } from './context.js';
import { GateKeeper } from './gate-keeper.js';
import type { Line } from './lines.js';
import { claimedRows, claimState, leaveReady } from './queries/claim.js';
import { beginStatements, insertSlots, pausedAmong, peekAlone, takeKeys } from './queries/lined-claim.js';
import type { Transaction } from './session.js';
import { hexId, type Sql } from './sql.js';

/** Jobs of each queue that are looked at. */
const mostJobs = 1_000;
/** Another claim may be faster. */
const mostTries = 10;

interface LoneJob {
  readonly queueId: number;
  /** The one it was dispatched into; null: the ordinary one. */
  readonly line: Line | null;
  readonly rnk: number;
  readonly due: number;
  readonly id: string;
}

export async function claimAlone(
  context: Context,
  prepared: PreparedClaim,
  before: readonly Sql[],
): Promise<{ state: number; rows: readonly ClaimedRow[] }> {
  const keeper = await GateKeeper.for(context, prepared.request);
  return context.main.transaction('claim', async (tx) => {
    keeper.begin();
    const found = await look(context, tx, { prepared, before });
    if (found.state !== claimState.fresh) {
      const [rows] = await tx.last(claimedRows(context.t, prepared.plan.token));
      return { state: found.state, rows: (rows?.rows ?? []) as unknown as ClaimedRow[] };
    }
    const labels = new Set(prepared.request.labels);
    const jobs = found.jobs.filter(
      ({ line, queueId }) =>
        line === null ||
        (line.requires.every((label) => labels.has(label)) && keeper.couldAfford(line, queueId)),
    );
    const rows =
      jobs.length === 0 ? [] : await takeFirst(context, tx, { prepared, keeper, jobs, nowMs: found.nowMs });
    return { state: claimState.fresh, rows };
  });
}

async function look(
  context: Context,
  tx: Transaction,
  { prepared, before }: { prepared: PreparedClaim; before: readonly Sql[] },
): Promise<{ state: number; nowMs: number; jobs: LoneJob[] }> {
  const { t, lines } = context;
  const { plan, queueIds } = prepared;
  const reads = plan.takes[0]?.reads ?? [];
  const head = [...before, ...beginStatements(t, plan, { plain: [], sums: [] }), pausedAmong(t, queueIds)];
  const results = await tx.send(...head, ...reads.map((read) => peekAlone(t, read, mostJobs)));
  const [state = claimState.stale, nowMs = 0] = (results[head.length - 2]?.rows[0] ?? []).map(Number);
  const paused = new Set((results[head.length - 1]?.rows ?? []).map(([id]) => id as number));
  const rows = reads.flatMap(({ queueId }, index) =>
    paused.has(queueId)
      ? []
      : ((results[head.length + index]?.rows ?? []) as [number, number, Buffer, number, number | null][]).map(
          (row) => ({ queueId, row }),
        ),
  );
  await lines.load(
    rows.map(({ row }) => row[4] ?? 0),
    tx.send,
  );
  const jobs = rows.map(({ queueId, row: [rnk, due, id, , home] }) => ({
    queueId,
    line: lines.line(home) ?? null,
    rnk,
    due,
    id: bytesToUuid(id),
  }));
  return { state, nowMs, jobs };
}

async function takeFirst(
  context: Context,
  tx: Transaction,
  of: { prepared: PreparedClaim; keeper: GateKeeper; jobs: LoneJob[]; nowMs: number },
): Promise<readonly ClaimedRow[]> {
  const { t } = context;
  const { keeper, prepared } = of;
  const { plan } = prepared;
  const locks = keeper.statements(of.jobs.flatMap(({ line }): Line[] => (line === null ? [] : [line])));
  keeper.read(locks.length === 0 ? [] : await tx.send(...locks), of.nowMs);
  const isStarted = (plan.takes[0]?.start ?? 0) > 0;
  let tries = 0;
  for (const { queueId, rnk, due, id, line } of of.jobs) {
    if (tries === mostTries) break;
    if (!hasRoom(keeper.roomFor(line, queueId))) continue;
    // It would have to wait in the buffer, where only ordinary jobs do.
    if (!isStarted && (line !== null || keeper.queueGates.has(queueId))) break;
    const isMetered = line?.keyGate != null || keeper.queueGates.has(queueId);
    const key = { queueId, line: aloneLine, rnk, due, id: hexId(id) };
    const [taken] = await tx.send(...takeKeys(t, plan, { keys: [key], isMetered, isStarted }));
    tries += 1;
    if (taken?.changed !== 1) continue;
    const results = await tx.last(
      leaveReady(t, plan.token),
      ...(isMetered ? [insertSlots(t, plan.token, { queueGates: keeper.queueGates, runsAlone: true })] : []),
      claimedRows(t, plan.token),
    );
    return (results.at(-1)?.rows ?? []) as unknown as ClaimedRow[];
  }
  return [];
}
