/**
 * The followed path: what becomes of jobs whose rows are locked, and of those that wait for them, all inside one
 * transaction of several round trips. Lock order: the jobs that end (ascending id), then their dependents (ascending id),
 * generation by generation. Two transactions that end two parents of one job meet at the row of that job: the second one
 * waits, and then counts what is really left.
 */
import { bytesToUuid } from '../../internal/uuid.js';
import { statusCodes } from '../sql/status-codes.js';
import { aloneLine, flag, policyCode, stopCode } from './codes.js';
import type { Context } from './context.js';
import { holdLanesOf } from './line-lanes.js';
import { lockWithin } from './lock-within.js';
import { type Marks, marksWidth, noMarks, writeMarks } from './marks.js';
import { edgesOf, meetEdges, openEdgesOf } from './queries/dependents.js';
import {
  bodyOf,
  forgetJobs,
  insertReady,
  leavePlaces,
  lockPlaces,
  lockWaiting,
  type Placed,
  placedOf,
  readBodies,
} from './queries/places.js';
import { countFinals, insertFinals } from './queries/settle.js';
import type { Transaction } from './session.js';
import { hexDigits, hexId, hexText, int, type Sql, sql } from './sql.js';

export type FinalStatus = 'completed' | 'buried' | 'cancelled';

/** What becomes of one job. `marks` are written when they are given. */
export type Change =
  | {
      readonly to: 'final';
      readonly job: Placed;
      readonly status: FinalStatus;
      readonly reason: string | null;
      /** Whose settlement ends it; null for any other hand. */
      readonly token: string | null;
      readonly result?: string | null;
      readonly isSkipped?: boolean;
      readonly marks?: Marks;
    }
  | { readonly to: 'ready'; readonly job: Placed; readonly marks: Marks }
  | { readonly to: 'gone'; readonly job: Placed };

/** One attempt at a transaction of the followed path. */
export class Changes {
  readonly context: Context;
  readonly tx: Transaction;
  /** The database's now at its beginning. */
  readonly nowMs: number;
  readonly #woken = new Set<number>();
  #freesSlots = false;

  private constructor(context: Context, tx: Transaction, nowMs: number) {
    this.context = context;
    this.tx = tx;
    this.nowMs = nowMs;
  }

  static async begin(context: Context, tx: Transaction): Promise<Changes> {
    const [, now] = await tx.send(sql`set @now = ${context.now()}`, sql`select @now`);
    return new Changes(context, tx, Number(now?.rows[0]?.[0]));
  }

  /** Queues in which something may have become claimable; null: in any, since a limit holds over queues. */
  get wokenQueues(): readonly number[] | null {
    return this.#freesSlots ? null : [...this.#woken];
  }

  wake(queueId: number): void {
    this.#woken.add(queueId);
  }

  /** Locks the rows of these jobs wherever they stand; those that don't exist are not in the answer. */
  async lock(ids: readonly string[]): Promise<Map<string, Placed>> {
    if (this.tx.foreign !== undefined) return lockWithin(this, this.tx.foreign, ids);
    const found = new Map<string, Placed>();
    let missing = [...new Set(ids)].sort();
    // A job that moves between two looks has moved by a commit: it stands still as soon as it is caught.
    while (missing.length > 0) {
      const hex = missing.map(hexId);
      const results = await this.tx.send(...lockPlaces(this.context.t, hex), readBodies(this.context.t, hex));
      const bodies = new Map((results[4]?.rows ?? []).map(bodyOf).map((body) => [body.id, body]));
      for (const [index, place] of (['leases', 'ready', 'waiting', 'finals'] as const).entries()) {
        for (const row of results[index]?.rows ?? []) {
          const body = bodies.get(bytesToUuid(row[0] as Buffer));
          if (body !== undefined) found.set(body.id, placedOf(place, row, body));
        }
      }
      missing = missing.filter((id) => bodies.has(id) && !found.has(id));
    }
    return found;
  }

  /**
   * Rows that nothing has locked, as they are committed now, but for jobs that this transaction has written itself. The
   * id of a job stands in column `idAt`.
   */
  async readCommitted(statement: Sql, idAt = 0): Promise<readonly (readonly unknown[])[]> {
    const { foreign } = this.tx;
    const own = (await this.tx.send(statement))[0]?.rows ?? [];
    if (foreign === undefined) return own;
    const idOf = (row: readonly unknown[]): string => bytesToUuid(row[idAt] as Buffer);
    const rows = new Map(own.map((row) => [idOf(row), row]));
    for (const row of (await foreign.beside(statement)).rows) {
      if (!foreign.touched.has(idOf(row)) || !rows.has(idOf(row))) rows.set(idOf(row), row);
    }
    return [...rows.values()];
  }

  noteTouched(ids: readonly string[]): void {
    for (const id of ids) this.tx.foreign?.touched.add(id);
  }

  /** A read that sees what is committed now: in a transaction of the user's that takes a lock. */
  #current(statement: Sql): Sql {
    return this.tx.foreign === undefined ? statement : sql`${statement} lock in share mode`;
  }

  /** Carries the changes out, and what follows for those that wait for these jobs. */
  async apply(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return;
    await this.tx.send(...(await this.#statements(changes)));
    await this.#tellDependents(
      changes.flatMap((change) => {
        const isFollowed = (change.job.flags & flag.followed) !== 0 && change.job.place !== 'finals';
        if (!isFollowed || change.to === 'ready') return [];
        return [{ id: change.job.id, completed: change.to === 'final' && change.status === 'completed' }];
      }),
    );
    // After the dependents: their edges to it are what tells who they are.
    const gone = changes.flatMap(({ to, job }) => (to === 'gone' ? [job.id] : []));
    if (gone.length > 0) await this.tx.send(...forgetJobs(this.context.t, gone, false));
  }

  async #statements(changes: readonly Change[]): Promise<Sql[]> {
    const { t } = this.context;
    this.noteTouched(changes.map(({ job }) => job.id));
    const finals = changes.filter((change) => change.to === 'final');
    const ready = changes.filter((change) => change.to === 'ready');
    const marked = changes.flatMap((change) =>
      change.to === 'gone' || change.marks === undefined ? [] : [{ id: change.job.id, marks: change.marks }],
    );
    for (const { job } of ready) this.#woken.add(job.queueId);
    // One that gave its slot back lets others run.
    this.#freesSlots ||= changes.some(({ job }) => (job.flags & flag.slotted) !== 0);
    const readyRows = ready.map(readyRow);
    return [
      ...(await holdLanesOf(this, readyRows)),
      ...leavePlaces(
        t,
        changes.map(({ job }) => job),
      ),
      ...(marked.length > 0 ? [writeMarks(t, marked)] : []),
      ...(ready.length > 0 ? [insertReady(t, readyRows)] : []),
      ...(finals.length > 0
        ? [
            insertFinals(
              t,
              finals.map((change) => finalRow(change)),
            ),
            countFinals(
              t,
              finals.map(({ job, status }) => ({ queueId: job.queueId, status: statusCodes[status] })),
            ),
          ]
        : []),
    ];
  }

  /** Level by level, not by recursion: a chain may be longer than the stack. */
  async #tellDependents(
    ended: readonly { readonly id: string; readonly completed: boolean }[],
  ): Promise<void> {
    let level = ended;
    while (level.length > 0) level = await this.#tellLevel(level);
  }

  async #tellLevel(
    ended: readonly { readonly id: string; readonly completed: boolean }[],
  ): Promise<{ id: string; completed: boolean }[]> {
    const { t } = this.context;
    const completed = new Map(ended.map((parent) => [parent.id, parent.completed]));
    const [result] = await this.tx.send(
      this.#current(
        edgesOf(
          t,
          ended.map(({ id }) => hexId(id)),
        ),
      ),
    );
    const edges = (result?.rows ?? []) as [Buffer, Buffer, number][];
    if (edges.length === 0) return [];
    const failing = new Map<string, FinalStatus>();
    const children = new Set<string>();
    for (const [parent, child, policy] of edges) {
      const id = bytesToUuid(child);
      children.add(id);
      if (completed.get(bytesToUuid(parent)) === true || policy === policyCode.run) continue;
      failing.set(id, policy === policyCode.bury ? 'buried' : 'cancelled');
    }
    return this.endWaiting(
      [...children].sort(),
      failing,
      ended.map(({ id }) => id),
    );
  }

  /**
   * Marks what these jobs waited for as met and moves those that wait for nothing more; a failing one ends. Returns who
   * ended, for their own dependents.
   */
  async endWaiting(
    children: readonly string[],
    failing: ReadonlyMap<string, FinalStatus>,
    parents: readonly string[],
  ): Promise<{ id: string; completed: boolean }[]> {
    const { t } = this.context;
    const hex = children.map(hexId);
    const [rows, bodies] =
      this.tx.foreign === undefined
        ? await this.tx.send(lockWaiting(t, hex), readBodies(t, hex))
        : [
            (await this.tx.send(lockWaiting(t, hex)))[0],
            { rows: await this.readCommitted(readBodies(t, hex), marksWidth) },
          ];
    const bodyById = new Map((bodies?.rows ?? []).map(bodyOf).map((body) => [body.id, body]));
    const blocked = (rows?.rows ?? []).flatMap((row) => {
      const body = bodyById.get(bytesToUuid(row[0] as Buffer));
      return body === undefined ? [] : [placedOf('waiting', row, body)];
    });
    if (blocked.length === 0) return [];
    const ids = blocked.map(({ id }) => hexId(id));
    const [, open] = await this.tx.send(
      meetEdges(t, parents.map(hexId), ids),
      this.#current(openEdgesOf(t, ids)),
    );
    const stillWaiting = new Set((open?.rows ?? []).map(([child]) => bytesToUuid(child as Buffer)));
    const changes = blocked.flatMap((job): Change[] => {
      const status = failing.get(job.id);
      if (status !== undefined) return [{ to: 'final', job, status, reason: 'parent-failed', token: null }];
      return stillWaiting.has(job.id) ? [] : [releaseOf(job)];
    });
    const released = changes.filter(({ to }) => to === 'ready');
    if (changes.length > 0) await this.tx.send(...(await this.#statementsOfDependents(changes)));
    for (const { job } of released) this.#woken.add(job.queueId);
    return blocked.flatMap(({ id, flags }) =>
      failing.has(id) && (flags & flag.followed) !== 0 ? [{ id, completed: false }] : [],
    );
  }

  /** Ends the waiting of these jobs and tells those that wait for the ones that fail. */
  async endWaitingOn(
    children: readonly string[],
    failing: ReadonlyMap<string, FinalStatus>,
    parents: readonly string[],
  ): Promise<void> {
    await this.#tellDependents(await this.endWaiting(children, failing, parents));
  }

  /** A released job keeps its body as its truth: nothing to be marked. */
  async #statementsOfDependents(changes: readonly Change[]): Promise<Sql[]> {
    const { t } = this.context;
    const released = changes
      .filter((change) => change.to === 'ready')
      .map(({ job }) => ({ ...job, line: job.homeLine }));
    const others = changes.filter((change) => change.to !== 'ready');
    this.noteTouched(released.map(({ id }) => id));
    return [
      ...(await holdLanesOf(this, released)),
      ...leavePlaces(t, released),
      ...(released.length > 0 ? [insertReady(t, released)] : []),
      ...(others.length > 0 ? await this.#statements(others) : []),
    ];
  }
}

const releaseOf = (job: Placed): Change => ({
  to: 'ready',
  job,
  marks: job.marks ?? noMarks(job.due, job.homeLine),
});

function readyRow({
  job,
  marks,
}: {
  readonly job: Placed;
  readonly marks: Marks;
}): Parameters<typeof insertReady>[1][number] {
  return { ...job, line: marks.line, due: marks.due, flags: (job.flags & ~flag.slotted) | flag.marked };
}

function finalRow(change: Extract<Change, { to: 'final' }>): Sql {
  const { job, status, marks } = change;
  const isRetained = job.retentionMs !== null && status !== 'buried';
  const known = marks ?? job.marks;
  const claimedAt = job.lease?.claimedAt ?? known?.claimedAt ?? null;
  const workerId = job.lease?.workerId ?? known?.workerId ?? null;
  const flags = job.flags & ~flag.slotted;
  return sql`(${hexId(job.id)}, ${job.queueId}, ${job.nameId}, ${statusCodes[status]},
    ${marks === undefined ? flags : flags | flag.marked}, ${int(isRetained)},
    @now + ${isRetained ? (job.retentionMs ?? 0) : 0}, ${marks?.due ?? job.due}, ${claimedAt}, @now, ${workerId},
    ${change.token === null ? null : hexDigits(change.token, 16)}, ${int(change.isSkipped === true)},
    ${hexText(change.reason)}, ${hexText(change.result ?? null)})`;
}

/** What an operator's request does to a running job whose run is over. */
export function carryOut(job: Placed, stop: number, token: string | null, marks?: Marks): Change {
  if (stop === stopCode.delete) return { to: 'gone', job };
  const status = stop === stopCode.cancel ? 'cancelled' : 'buried';
  return { to: 'final', job, status, reason: 'operator', token, ...(marks === undefined ? {} : { marks }) };
}

/** The marks of a job whose lease ends, with what that changes. */
export function marksAfterLease(job: Placed, patch: Partial<Marks>): Marks {
  const before = job.marks ?? noMarks(job.due, job.homeLine);
  return {
    ...before,
    line: before.line === aloneLine ? aloneLine : job.homeLine,
    due: job.due,
    isSpent: true,
    claimedAt: job.lease?.claimedAt ?? before.claimedAt,
    workerId: job.lease?.workerId ?? before.workerId,
    reason: null,
    ...patch,
  };
}
