import type { StopRequest } from '../claimed-job.js';
import type { Settlement, SettleOutcome, TakeBack, TakeBackOutcome } from '../settlement.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { plainToken } from './claim.js';
import { care, statusCode, stopOf } from './codes.js';
import { anyQueue, type Context } from './context.js';
import { type Ending, type EndingTools, endJobs, followParents } from './endings.js';
import { type LineQueries, lineQueries } from './queries/lines.js';
import { type RecoverQueries, recoverQueries } from './queries/recover.js';
import { type EndingQueries, endingQueries, type SettleQueries, settleQueries } from './queries/settle.js';
import { dueInMs, isReturn } from './settle.js';
import { boolOf, type Executor, intOf, type Row, textOf } from './statement.js';

/** A live row as locked by this transaction. */
export interface LockedJob {
  readonly id: string;
  readonly status: number;
  readonly token: string | null;
  readonly isFollowed: boolean;
  readonly stopRequest: StopRequest | null;
  readonly leaseUntilMs: number;
  /** Others may wait for its place under a limit or a budget. */
  readonly isCounted: boolean;
}

export class Followed {
  readonly #context: Context;
  readonly #settle: SettleQueries;
  readonly #endings: EndingQueries;
  readonly #recover: RecoverQueries;
  readonly #lines: LineQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#settle = settleQueries(context.schema);
    this.#endings = endingQueries(context.schema);
    this.#recover = recoverQueries(context.schema);
    this.#lines = lineQueries(context.schema);
  }

  /** Settles whatever it is, in one transaction. */
  settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return this.inTransaction('settle', async (tools) => {
      const live = await this.lock(
        tools.tx,
        settlements.map((s) => s.id),
      );
      const owned = new Map<string, Settlement>();
      for (const settlement of settlements) {
        // A second settlement of one lease finds it ended by the first.
        if (live.get(settlement.id)?.token === settlement.token && !owned.has(settlement.id))
          owned.set(settlement.id, settlement);
      }
      const returned: Extract<Settlement, { kind: 'retry' | 'snoozed' | 'put-back' }>[] = [];
      const died: Extract<Settlement, { kind: 'died' }>[] = [];
      const endings: Ending[] = [];
      for (const [id, settlement] of owned) {
        const job = live.get(id) as LockedJob;
        if (job.isCounted) tools.awakened.add(anyQueue);
        if (isReturn(settlement) && job.stopRequest === null) returned.push(settlement);
        else if (settlement.kind === 'died' && job.stopRequest === null) died.push(settlement);
        else endings.push(endingOf(settlement, job));
      }
      if (returned.length > 0) await this.#putBack(tools, returned);
      if (died.length > 0) await this.#returnToPending(tools, died);
      await endJobs(tools, endings);
      return this.#outcomes(tools.tx, settlements, live, owned);
    });
  }

  takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    return this.inTransaction('takeBack', async (tools) => {
      const live = await this.lock(
        tools.tx,
        decisions.map((d) => d.id),
      );
      const endings: Ending[] = [];
      const returned: TakeBack[] = [];
      const outcomes = decisions.map((decision): TakeBackOutcome => {
        const job = live.get(decision.id);
        if (job?.token !== decision.token || job.leaseUntilMs !== decision.leaseUntilMs) return 'renewed';
        // Nobody withdraws a request, so a rescuer that saw one and a job that has none don't go together.
        if (decision.kind === 'stopped' && job.stopRequest === null) return 'renewed';
        live.delete(decision.id);
        if (job.isCounted) tools.awakened.add(anyQueue);
        const ending = endingOfLease(decision, job);
        if (ending === null) returned.push(decision);
        else endings.push(ending);
        return 'done';
      });
      if (returned.length > 0) await this.#returnToPending(tools, returned);
      await endJobs(tools, endings);
      return outcomes;
    });
  }

  /** Sweep: blocked jobs none of whose parents lives any more. */
  async releaseBlocked(limit: number): Promise<number> {
    return this.inTransaction('releaseBlocked', async (tools) => {
      const ids = (await tools.tx.run(this.#recover.stranded, [limit])).map(([id]) => textOf(id));
      if (ids.length === 0) return 0;
      const live = await this.lock(tools.tx, ids);
      const blocked = ids.filter((id) => live.get(id)?.status === statusCode.blocked);
      const failed = new Map(blocked.map((id) => [id, false]));
      for (const [child, , status] of await tools.tx.run(this.#recover.openParents, [uuidArray(blocked)])) {
        const id = textOf(child);
        if (status !== null && intOf(status) < statusCode.completed) failed.delete(id);
        else if (failed.has(id) && (status === null || intOf(status) !== statusCode.completed))
          failed.set(id, true);
      }
      await tools.tx.run(this.#recover.meetAll, [uuidArray([...failed.keys()])]);
      await endJobs(tools, await followParents(tools, failed));
      return failed.size;
    });
  }

  /** Locks what lives of these, in ascending id. */
  async lock(tx: Executor, ids: readonly string[]): Promise<Map<string, LockedJob>> {
    const rows = await tx.run(this.#settle.lockJobs, [uuidArray(ids)]);
    return new Map(rows.map((row) => [textOf(row[0]), lockedJob(row)]));
  }

  /** One transaction with what endings need; watchers are told after it. */
  async inTransaction<T>(name: string, work: (tools: EndingTools) => Promise<T>): Promise<T> {
    const { connection, offsetMs, wake } = this.#context;
    const awakened = new Set<string>();
    const answer = await connection.transaction(name, (tx) => {
      awakened.clear();
      const queries = { settle: this.#settle, endings: this.#endings, lines: this.#lines };
      return work({ tx, ...queries, offsetMs, awakened });
    });
    if (awakened.size > 0) wake(awakened);
    return answer;
  }

  async #putBack(
    tools: EndingTools,
    part: readonly Extract<Settlement, { kind: 'retry' | 'snoozed' | 'put-back' }>[],
  ): Promise<void> {
    const rows = await tools.tx.run(this.#settle.putBack, [
      uuidArray(part.map((s) => s.id)),
      uuidArray(part.map((s) => s.token)),
      plainArray(part.map(dueInMs)),
      plainArray(part.map((s) => (s.kind === 'retry' ? 1 : 0))),
      textArray(part.map((s) => (s.kind === 'retry' ? s.errors : null))),
      textArray(part.map((s) => (s.kind === 'put-back' ? s.reason : null))),
      tools.offsetMs(),
    ]);
    for (const [, queue] of rows) tools.awakened.add(textOf(queue));
  }

  async #returnToPending(tools: EndingTools, decisions: readonly (TakeBack | Settlement)[]): Promise<void> {
    const rows = await tools.tx.run(this.#recover.returnToPending, [
      uuidArray(decisions.map((d) => d.id)),
      plainArray(decisions.map((d) => (d.kind === 'died' ? Math.round(d.delayMs) : null))),
      plainArray(decisions.map((d) => (d.kind === 'died' ? 1 : 0))),
      plainArray(decisions.map((d) => (d.kind === 'lapsed' ? 1 : 0))),
      plainArray(decisions.map((d) => d.kind === 'died' && d.alone)),
      textArray(decisions.map((d) => (d.kind === 'died' ? d.errors : null))),
      tools.offsetMs(),
    ]);
    for (const [queue] of rows) tools.awakened.add(textOf(queue));
  }

  async #outcomes(
    tx: Executor,
    settlements: readonly Settlement[],
    live: ReadonlyMap<string, LockedJob>,
    owned: ReadonlyMap<string, Settlement>,
  ): Promise<SettleOutcome[]> {
    if (settlements.every((settlement) => owned.get(settlement.id) === settlement))
      return settlements.map(() => 'done');
    const ended = new Map<string, string | null>();
    for (const [id, token] of await tx.run(this.#settle.endedBy, [uuidArray(settlements.map((s) => s.id))])) {
      ended.set(textOf(id), token === null || token === undefined ? null : plainToken(token));
    }
    return settlements.map((settlement) => {
      if (owned.get(settlement.id) === settlement) return 'done';
      if (ended.has(settlement.id))
        return ended.get(settlement.id) === settlement.token ? 'done' : 'already-final';
      return live.has(settlement.id) && !wasRemoved(owned.get(settlement.id), live.get(settlement.id))
        ? 'lease-lost'
        : 'already-final';
    });
  }
}

/** Whether this transaction removed the row that it had locked. */
function wasRemoved(settlement: Settlement | undefined, job: LockedJob | undefined): boolean {
  return settlement !== undefined && settlement.kind !== 'completed' && job?.stopRequest === 'delete';
}

function lockedJob([id, status, token, careBits, stopRequest, leaseUntil, , isCounted]: Row): LockedJob {
  return {
    id: textOf(id),
    status: intOf(status),
    token: token === null || token === undefined ? null : plainToken(token),
    isFollowed: (intOf(careBits) & care.followed) !== 0,
    stopRequest: stopOf(intOf(stopRequest)),
    leaseUntilMs: intOf(leaseUntil),
    isCounted: boolOf(isCounted),
  };
}

/** How an operator's wish ends a job. */
export function stoppedAs(request: StopRequest): Pick<Ending, 'status' | 'reason'> {
  const status = { cancel: 'cancelled', bury: 'buried', delete: 'deleted' } as const;
  return { status: status[request], reason: 'operator' };
}

/** A stop request turns every kind but a completion; what the attempt did is recorded all the same. */
function endingOf(settlement: Settlement, job: LockedJob): Ending {
  const base = { id: job.id, byLease: true, isFollowed: job.isFollowed };
  if (settlement.kind === 'completed') {
    const { result, outcome } = settlement;
    return { ...base, status: 'completed', reason: null, result, outcome };
  }
  const attempt = whatItDid(settlement);
  if (job.stopRequest !== null) return { ...base, ...attempt, ...stoppedAs(job.stopRequest) };
  const status = settlement.kind === 'cancelled' ? 'cancelled' : 'buried';
  const reason = settlement.kind === 'cancelled' || settlement.kind === 'buried' ? settlement.reason : null;
  return { ...base, ...attempt, status, reason };
}

function whatItDid(settlement: Settlement): Partial<Ending> {
  switch (settlement.kind) {
    case 'retry':
      return { charge: 1, errors: settlement.errors };
    case 'buried':
      return {
        ...(settlement.reason === 'poison' ? { deaths: 1 } : { charge: 1 }),
        errors: settlement.errors,
      };
    case 'died':
      return { deaths: 1, errors: settlement.errors };
    case 'completed':
    case 'cancelled':
    case 'snoozed':
    case 'put-back':
      return {};
  }
}

/** Null where the job goes back to pending. */
function endingOfLease(decision: TakeBack, job: LockedJob): Ending | null {
  const base = { id: job.id, byLease: false, isFollowed: job.isFollowed };
  const record = recordOf(decision);
  if (job.stopRequest !== null) return { ...base, ...record, ...stoppedAs(job.stopRequest) };
  return decision.kind === 'poison' ? { ...base, ...record, status: 'buried', reason: 'poison' } : null;
}

function recordOf(decision: TakeBack): Partial<Ending> {
  switch (decision.kind) {
    case 'died':
    case 'poison':
      return { deaths: 1, errors: decision.errors };
    case 'lapsed':
      return { lapses: 1 };
    case 'stopped':
      return {};
  }
}
