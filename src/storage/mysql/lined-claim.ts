/*
 * The claim where lines or budgets are in play. One transaction, mostly of two round trips:
 *
 * 1. Lock the gates (of keys, of groups and queues with a budget) in ascending order, waiting; then, in statements of their
 *    own and so with what is committed by now, count what runs behind them and read who comes next.
 * 2. Take what `choose-jobs.ts` decided, write its slots and who was served, return the jobs, commit.
 *
 * Which lanes are looked at is decided by the survey, a hint. Where a take has slots left the survey is read anew, and
 * step 1 done for lanes that were not looked at; gates are then locked without waiting, since the order is gone.
 * A claim that waits for gates holds nothing but rows of its own (leases and slots that it ended): no deadlock.
 */
import { type Chosen, chooseJobs, inClaimOrder } from '../choose-jobs.js';
import { hasRoom } from '../occupancy.js';
import { type ChosenLane, chooseLanes } from './choose-lanes.js';
import { inChosenOrder } from './chosen-order.js';
import type { PreparedClaim } from './claim-plan.js';
import type { ClaimedRow } from './claimed-rows.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { GateKeeper } from './gate-keeper.js';
import type { Line } from './lines.js';
import { claimedRows, claimState, leaveReady, type TakePlan } from './queries/claim.js';
import {
  beginStatements,
  insertSlots,
  type LaneQuota,
  pausedAmong,
  peekedJobs,
  peekLanes,
  peekOrdinary,
  type ReadyKey,
  serveGates,
  takeKeys,
  takeLanes,
  takeOrdinary,
} from './queries/lined-claim.js';
import type { Transaction } from './session.js';
import { bySource, laneKey, ordinaryKey, type Spring, type SpringJob, springJob } from './springs.js';
import { hexBytes, type Sql } from './sql.js';

/** Of up to so many lanes as many jobs are read as there are slots; of more each only its share, and half as much again. */
const fullyRead = 8;
const mostRounds = 4;

/** What a claim found, and the rows that it holds: of a fresh one in their order. */
export interface LinedAnswer {
  readonly state: number;
  readonly rows: readonly ClaimedRow[];
}

/** `before`: statements that go first, as those of a settle. `isHasty`: what is known of the lanes is not compared. */
export async function claimLined(
  context: Context,
  prepared: PreparedClaim,
  { before, isHasty }: { readonly before: readonly Sql[]; readonly isHasty: boolean },
): Promise<LinedAnswer> {
  const { survey } = context;
  const stale = survey.stale(prepared.queueIds);
  const send = (...statements: readonly Sql[]): Promise<Result[]> =>
    context.main.send('looking for lines', ...statements);
  await survey.read(stale, send);
  await context.lines.load(survey.linesIn(prepared.queueIds));
  const keeper = await GateKeeper.for(context, prepared.request);
  const known = {
    plain: survey.plain(prepared.queueIds),
    sums: isHasty ? [] : survey.sums(prepared.queueIds),
  };
  const lined = survey.lined(prepared.queueIds);
  // What is compared by its sum is as good as read just now.
  const isFresh = lined.every((id) => stale.includes(id) || known.sums.some(([queueId]) => queueId === id));
  return context.main.transaction('claim', (tx) =>
    new LinedClaim(context, tx, { prepared, keeper }).run(
      [...before, ...beginStatements(context.t, prepared.plan, known)],
      isFresh,
    ),
  );
}

class LinedClaim {
  readonly #context: Context;
  readonly #tx: Transaction;
  readonly #prepared: PreparedClaim;
  readonly #keeper: GateKeeper;
  /** Lanes that have nothing more to give to this claim. */
  readonly #looked = new Set<string>();
  /** What was taken, by take, in order. */
  readonly #order: Spring[][];
  #paused = new Set<number>();
  /** Of lanes of which too little was read, the next round reads more. */
  #depth = 1;

  constructor(
    context: Context,
    tx: Transaction,
    { prepared, keeper }: { prepared: PreparedClaim; keeper: GateKeeper },
  ) {
    this.#context = context;
    this.#tx = tx;
    this.#prepared = prepared;
    this.#keeper = keeper;
    this.#order = prepared.takes.map(() => []);
    keeper.begin();
  }

  async run(beginning: readonly Sql[], isSurveyFresh: boolean): Promise<LinedAnswer> {
    const { t } = this.#context;
    const { plan, queueIds } = this.#prepared;
    let head: readonly Sql[] = [...beginning, pausedAmong(t, queueIds)];
    let isFresh = isSurveyFresh;
    let lanes = this.#chooseLanes();
    for (let round = 1; ; round += 1) {
      const { state, springs } = await this.#look(head, lanes);
      if (state !== claimState.fresh) {
        const [rows] = await this.#tx.last(claimedRows(t, plan.token));
        return { state, rows: rowsOf(rows) };
      }
      head = [];
      const { statements, isCut } = this.#take(springs);
      if (round === mostRounds || !this.#wantsMore(isCut)) return this.#finish(statements);
      if (!isCut && !isFresh) {
        await this.#surveyAnew();
        isFresh = true;
      }
      lanes = this.#chooseLanes();
      if (lanes.length === 0) return this.#finish(statements);
      if (statements.length > 0) await this.#tx.send(...statements);
    }
  }

  /** Also where only a buffer has room: past a lane of which too little was read there may be more for it. */
  #wantsMore(isCut: boolean): boolean {
    return this.#prepared.takes.some(
      (_, take) => this.#roomIn(take) > 0 || (isCut && this.#placesIn(take) > 0),
    );
  }

  async #surveyAnew(): Promise<void> {
    const { survey, lines } = this.#context;
    const queueIds = survey.lined(this.#prepared.queueIds);
    await survey.read(queueIds, this.#tx.send);
    await lines.load(survey.linesIn(queueIds), this.#tx.send);
  }

  /** Jobs that a take may still get, those that wait in a buffer among them. */
  #placesIn(take: number): number {
    return (this.#prepared.plan.takes[take]?.limit ?? 0) - (this.#order[take]?.length ?? 0);
  }

  /** Slots of a take that are still free. */
  #roomIn(take: number): number {
    return (this.#prepared.plan.takes[take]?.start ?? 0) - (this.#order[take]?.length ?? 0);
  }

  #chooseLanes(): ChosenLane[] {
    const { survey, lines } = this.#context;
    return chooseLanes({
      ...{ survey, lines, prepared: this.#prepared, keeper: this.#keeper },
      paused: this.#paused,
      looked: this.#looked,
      placesIn: (take) => this.#placesIn(take),
      roomIn: (take) => this.#roomIn(take),
    });
  }

  async #look(
    head: readonly Sql[],
    lanes: readonly ChosenLane[],
  ): Promise<{ state: number; springs: Spring[] }> {
    const { t } = this.#context;
    const { plan } = this.#prepared;
    const locks = this.#keeper.statements(lanes.map(([, , line]) => line));
    const ordinary = plan.takes.flatMap((take, index) => {
      const room = take.limit - (this.#order[index]?.length ?? 0);
      return room <= 0 ? [] : take.reads.map((read) => ({ take: index, read, room }));
    });
    const reads = lanes.map(([take, lane, line]) => ({
      lane,
      limit: this.#readOf(take, { line, among: lanes.length }),
    }));
    const results = await this.#tx.send(
      ...head,
      ...locks,
      ...ordinary.map(({ read, room }) => peekOrdinary(t, read, room)),
      ...peekLanes(t, reads),
    );
    const found = results.slice(head.length + locks.length);
    const counted = results.slice(head.length, head.length + locks.length);
    const { state, nowMs } = this.#readHead(results, head.length);
    this.#keeper.read(counted, nowMs);
    const springs = ordinary.map(({ take, read: { queueId } }, index): Spring => {
      const key = ordinaryKey(take, queueId);
      const spring: Spring = { key, take, queueId, lane: null, line: null, jobs: [], isCut: false };
      for (const [rnk, due, id] of (found[index]?.rows ?? []) as [number, number, Buffer][])
        spring.jobs.push(springJob(spring, { rnk, due, id }));
      return spring;
    });
    const ofLanes = lanes.map(([take, lane, line]): Spring => {
      const key = laneKey(lane);
      this.#looked.add(key);
      return { key, take, queueId: lane.queueId, lane, line, jobs: [], isCut: false };
    });
    for (const { place, due, id } of peekedJobs(found.slice(ordinary.length))) {
      const spring = ofLanes[place];
      spring?.jobs.push(springJob(spring, { rnk: spring.lane?.rnk ?? 0, due, id }));
    }
    for (const [index, spring] of ofLanes.entries()) {
      if (spring.line === null || !this.#keeper.guards(spring.line)) continue;
      spring.jobs.sort(inClaimOrder);
      spring.isCut = spring.jobs.length > 0 && spring.jobs.length === reads[index]?.limit;
      springs.push(spring);
    }
    return { state, springs: springs.filter(({ queueId }) => !this.#paused.has(queueId)) };
  }

  #lastHead = { state: claimState.fresh as number, nowMs: 0 };

  #readHead(results: readonly Result[], length: number): { state: number; nowMs: number } {
    if (length === 0) return this.#lastHead;
    const [state, nowMs] = (results[length - 2]?.rows[0] ?? []).map(Number);
    this.#paused = new Set((results[length - 1]?.rows ?? []).map(([id]) => id as number));
    this.#lastHead = { state: state ?? claimState.stale, nowMs: nowMs ?? 0 };
    return this.#lastHead;
  }

  #readOf(take: number, { line, among }: { line: Line; among: number }): number {
    const room = Math.min(this.#placesIn(take), Math.max(this.#roomIn(take), 0) + 1);
    const most = Math.min(room, line.limit?.max ?? room);
    if (among <= fullyRead) return most;
    return Math.min(most, Math.max(1, Math.floor((1.5 * room) / among)) * this.#depth);
  }

  /** What is taken of what was read. */
  #take(springs: readonly Spring[]): { statements: Sql[]; isCut: boolean } {
    const { t } = this.#context;
    const { plan } = this.#prepared;
    const statements: Sql[] = [];
    const lanes: LaneQuota[] = [];
    const keys: ReadyKey[] = [];
    const counts = new Map<Spring, number>();
    const chosen = plan.takes.map((take, index) => this.#chooseIn(take, index, springs));
    for (const [index, jobs] of chosen.entries()) {
      const bySpring = bySource(jobs);
      for (const [spring, own] of bySpring) {
        const { lane, line, queueId } = spring;
        counts.set(spring, own.length);
        const isMetered = this.#keeper.queueGates.has(queueId);
        if (lane !== null && line?.keyGate != null) {
          // Behind their gate nobody else takes them: what was read is what is taken.
          for (const { job } of own)
            keys.push({ ...lane, due: job.dueAtMs, id: hexBytes(Buffer.from(job.id, 'hex')) });
        } else if (lane !== null) lanes.push({ lane, limit: own.length, isMetered });
        else {
          const read = plan.takes[index]?.reads.find((one) => one.queueId === queueId);
          const started = own.filter((one) => one.started).length;
          if (read !== undefined)
            statements.push(...takeOrdinary(t, plan, { read, count: own.length, started, isMetered }));
        }
      }
      this.#order[index]?.push(...jobs.map(({ job }) => job.spring));
    }
    if (lanes.length > 0) statements.push(takeLanes(t, plan, lanes));
    statements.push(...takeKeys(t, plan, { keys, isMetered: true, isStarted: true }));
    if (statements.length > 0) statements.push(leaveReady(t, plan.token));
    const isCut = springs.some(
      (spring) =>
        spring.isCut &&
        counts.get(spring) === spring.jobs.length &&
        hasRoom(this.#keeper.roomFor(spring.line, spring.queueId)),
    );
    if (isCut) {
      this.#looked.clear();
      this.#depth *= 4;
    }
    return { statements, isCut };
  }

  #chooseIn(take: TakePlan, index: number, springs: readonly Spring[]): Chosen<SpringJob>[] {
    const taken = this.#order[index]?.length ?? 0;
    const own = springs.filter((spring) => spring.take === index);
    const queues = (this.#prepared.takes[index]?.queueIds ?? []).map((queueId) =>
      own
        .filter((spring) => spring.queueId === queueId)
        .map((spring) => ({
          jobs: spring.jobs,
          isCut: spring.isCut,
          room: this.#keeper.roomFor(spring.line, queueId),
          group: spring.line?.limit?.group ?? null,
          mayWait: spring.lane === null && !this.#keeper.queueGates.has(queueId),
        })),
    );
    return chooseJobs({ limit: take.limit - taken, start: take.start - taken }, queues);
  }

  async #finish(statements: readonly Sql[]): Promise<LinedAnswer> {
    const { t } = this.#context;
    const { plan } = this.#prepared;
    const order = this.#order.flat();
    if (order.length === 0) {
      await this.#tx.last();
      return { state: claimState.fresh, rows: [] };
    }
    const served = new Map<number, number>();
    for (const { line, queueId } of order) {
      const turn = this.#keeper.roomFor(line, queueId).key?.turn;
      if (line?.keyGate != null && turn !== undefined) served.set(line.keyGate, turn);
    }
    const { queueGates } = this.#keeper;
    const haveSlots = served.size > 0 || order.some(({ queueId }) => queueGates.has(queueId));
    const results = await this.#tx.last(
      ...statements,
      ...(haveSlots ? [insertSlots(t, plan.token, { queueGates, runsAlone: false })] : []),
      ...(served.size > 0 ? [serveGates(t, served)] : []),
      claimedRows(t, plan.token),
    );
    for (const { lane, line } of order) {
      if (lane !== null && line?.keyGate != null) lane.served = served.get(line.keyGate) ?? lane.served;
    }
    return {
      state: claimState.fresh,
      rows: inChosenOrder(order, rowsOf(results.at(-1)), this.#prepared.takes),
    };
  }
}

const rowsOf = (result: Result | undefined): ClaimedRow[] => (result?.rows ?? []) as unknown as ClaimedRow[];
