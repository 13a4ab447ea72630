/**
 * Brings work that comes to room that stands. Workers that ask for the same are one group. When work may have come for it
 * (a wake-up, a due time, the poll), the group has its turn: passes over its workers, each a claim of a few jobs
 * (`core/placement-order.ts`), until one brings less than it asked for, or nobody has room. So 500 idle workers cost one
 * claim. At most four groups have their turn at once; a group has one at a time, and what comes meanwhile gives it another.
 *
 *   resting ──work may have come──▶ waiting ──one of four places──▶ turn ──dry or full──▶ resting
 *                                      ▲──────came meanwhile, or storage failed (later)──┘
 *
 * Wake-ups are hints; each group looks by itself every `pollMs`, and when the next job falls due. What only that look finds
 * is counted (`sweptJobs`).
 */
import { type PlacementStep, placementPass } from '../../core/placement-order.js';
import { describeFailure } from '../../internal/failure.js';
import type { Storage } from '../../storage/storage.js';
import type { HubContext } from '../hub-context.js';
import type { LinkedWorker } from '../link/linked-worker.js';
import { Group, type GroupCandidate, type GroupTerms, groupKey } from './group.js';

const mostTurns = 4;
const largestPass = 64;
const lookEveryMs = 250;
/** A busy worker leaves its group and comes back all the time; what is known of the group is kept meanwhile. */
const emptyMs = 30_000;
const loneEveryMs = 5_000;
const firstPollMs = 5;
const pollGrowth = 1.3;
const firstBackoffMs = 100;
const maxBackoffMs = 15_000;

export class Placement {
  readonly #context: HubContext;
  readonly #storage: Storage;
  readonly #groups = new Map<string, Group>();
  readonly #groupsOf = new Map<LinkedWorker, Set<Group>>();
  readonly #waiting: Group[] = [];
  #turns = 0;
  #generation = 0;
  #watch: AsyncDisposable | null = null;
  #isStopped = false;

  constructor(context: HubContext, storage: Storage) {
    this.#context = context;
    this.#storage = storage;
  }

  /** Rises with each wake-up: a claim that began before the last one may have missed what came with it. */
  get generation(): number {
    return this.#generation;
  }

  get groups(): number {
    return this.#groups.size;
  }

  async start(): Promise<void> {
    this.#watch = await this.#storage.watch((queues) => this.wake(queues));
    if (this.#isStopped) await this.#watch[Symbol.asyncDispose]();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const group of this.#groups.values()) group.close();
    this.#groups.clear();
    this.#waiting.length = 0;
    await this.#watch?.[Symbol.asyncDispose]();
  }

  /** Work may have come for these queues; null: for any. */
  wake(queues: readonly string[] | null): void {
    this.#generation += 1;
    for (const group of this.#groups.values()) {
      const isFor = queues === null || queues.some((queue) => group.terms.queues.includes(queue));
      if (isFor) this.#stir(group, false);
    }
  }

  /** What room this worker has stands from now on. `since`: the generation when its last claim began. */
  stand(worker: LinkedWorker, since: number): void {
    if (this.#isStopped || !worker.channel.isOpen) return;
    const { takes, alone } = worker.room.open;
    const groups = new Set<Group>();
    this.#groupsOf.set(worker, groups);
    for (const take of takes) {
      const key = groupKey(worker, take, alone);
      const group = this.#groups.get(key) ?? this.#found(key, worker, take, alone);
      group.members.add(worker);
      groups.add(group);
      if (since !== this.#generation) this.#stir(group, false);
      this.#lookSoon(group);
    }
  }

  /** It has no room that could be filled from here, until it stands again. */
  withdraw(worker: LinkedWorker): void {
    for (const group of this.#groupsOf.get(worker) ?? []) group.leave(worker);
    this.#groupsOf.delete(worker);
  }

  /** Those with a free slot, and how many jobs were placed in each so far. */
  idleGroups(): { readonly key: string; readonly terms: GroupTerms; readonly placed: number }[] {
    return [...this.#groups.values()].filter(
      (group) =>
        !group.terms.alone && group.candidates().some(({ slots, isStandby }) => slots > 0 && !isStandby),
    );
  }

  /** Its socket is writable again, or it was told to go on. */
  retry(worker: LinkedWorker): void {
    for (const group of this.#groupsOf.get(worker) ?? []) this.#stir(group, false);
  }

  /** Whether an active worker with a free slot waits for the same as this one, which is on standby. */
  hasActiveRoom(worker: LinkedWorker): boolean {
    const { takes, alone } = worker.room.open;
    return takes.some((take) => {
      const group = this.#groups.get(groupKey(worker, take, alone));
      return group?.candidates().some(({ isStandby, slots }) => !isStandby && slots > 0) === true;
    });
  }

  #found(
    key: string,
    worker: LinkedWorker,
    { queues, names }: Pick<GroupTerms, 'queues' | 'names'>,
    alone: boolean,
  ): Group {
    const group = new Group(key, { queues, names, labels: worker.report.labels, alone });
    group.adaptivePollMs = firstPollMs;
    this.#groups.set(key, group);
    this.#pollIn(group, this.#pollMs(group));
    return group;
  }

  #stir(group: Group, isSweep: boolean): void {
    // Who comes later asks by itself.
    if (this.#isStopped || group.members.size === 0) return;
    group.isSweep = isSweep && (group.isSweep || !group.isDirty);
    if (!isSweep) group.adaptivePollMs = firstPollMs;
    if (group.isDirty) return;
    group.isDirty = true;
    if (group.isRunning) return;
    this.#waiting.push(group);
    this.#next();
  }

  #next(): void {
    while (this.#turns < mostTurns) {
      const group = this.#waiting.shift();
      if (group === undefined) return;
      this.#turns += 1;
      group.isRunning = true;
      void this.#turn(group).finally(() => {
        this.#turns -= 1;
        group.isRunning = false;
        if (group.isDirty && !this.#isStopped) this.#waiting.push(group);
        this.#next();
      });
    }
  }

  async #turn(group: Group): Promise<void> {
    group.isDirty = false;
    const { isSweep } = group;
    group.isSweep = false;
    try {
      const { placed, isDry } = await this.#passes(group);
      group.failures = 0;
      if (placed > 0) group.adaptivePollMs = firstPollMs;
      if (isSweep) this.#context.metrics.sweptJobs += placed;
      if (this.#isStopped) return;
      this.#pollIn(group, this.#pollMs(group));
      if (isDry) this.#lookSoon(group);
    } catch (error) {
      this.#backOff(group, error);
    }
  }

  async #passes(group: Group): Promise<{ placed: number; isDry: boolean }> {
    let placed = 0;
    for (let most = 1; !this.#isStopped; most = Math.min(most * 2, largestPass)) {
      const steps = placementPass(group.candidates(), most, this.#context.random);
      if (steps.length === 0) return { placed, isDry: false };
      let asked = 0;
      for (const step of steps) {
        const got = await this.#claim(group, step);
        if (got === null) continue;
        asked += 1;
        placed += got;
        group.placed += got;
        if (got < step.limit) return { placed, isDry: true };
      }
      if (asked === 0) return { placed, isDry: false };
    }
    return { placed, isDry: false };
  }

  /** Null: its room has changed in the meantime. */
  #claim(group: Group, { candidate, limit, start }: PlacementStep<GroupCandidate>): Promise<number | null> {
    const choose = (worker: LinkedWorker) => {
      const take = group.takeOf(worker);
      if (take === null || take.limit < limit || take.start < start) return null;
      return { ...take, limit, start };
    };
    return candidate.worker.claimStanding(choose, group.terms.alone);
  }

  /** When the next job falls due, and whether one that must run alone is. A failure leaves that to the poll. */
  #lookSoon(group: Group): void {
    if (group.terms.alone || group.lookTimer !== null || this.#isStopped) return;
    const waitMs = Math.max(group.lookedAtMs + lookEveryMs - performance.now(), 0);
    group.lookTimer = setTimeout(() => {
      group.lookTimer = null;
      this.#look(group).catch((error: unknown) => {
        this.#context.logger.debug('placement: could not look for the next due job', {
          error: describeFailure(error).message,
        });
      });
    }, waitMs).unref();
  }

  async #look(group: Group): Promise<void> {
    if (group.members.size === 0 || this.#isStopped) return;
    group.lookedAtMs = performance.now();
    const { queues, names, labels } = group.terms;
    const takes = [{ queues, names, limit: 1, start: 1 }];
    const { budgets } = this.#context.settings;
    const { dueInMs, aloneDue } = await this.#storage.peek({ takes, labels, budgets });
    if (this.#isStopped) return;
    if (dueInMs !== null) this.#pollIn(group, Math.max(dueInMs, 1), true);
    if (aloneDue) this.#hintLone(group, performance.now());
  }

  /** One worker makes room for it, and not all of them. */
  #hintLone(group: Group, nowMs: number): void {
    if (nowMs - group.loneAtMs < loneEveryMs) return;
    const [first] = placementPass(group.candidates(), 1, this.#context.random);
    if (first === undefined) return;
    group.loneAtMs = nowMs;
    first.candidate.worker.channel.send({ type: 'lone' });
  }

  #backOff(group: Group, error: unknown): void {
    if (this.#isStopped) return;
    const waitMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** group.failures) * this.#context.random();
    if (group.failures === 0) {
      this.#context.logger.warn('placement: storage did not answer, trying again', {
        queues: group.terms.queues.join(','),
        error: describeFailure(error).message,
      });
    }
    group.failures += 1;
    this.#pollIn(group, Math.max(waitMs, 1));
  }

  #pollMs(group: Group): number {
    const { settings, random } = this.#context;
    if (this.#storage.capabilities.push) return settings.pollMs * (0.9 + 0.2 * random());
    const ms = group.adaptivePollMs;
    group.adaptivePollMs = Math.min(settings.pollMs, ms * pollGrowth);
    return ms;
  }

  #pollIn(group: Group, ms: number, isSooner = false): void {
    if (this.#groups.get(group.key) !== group) return;
    const atMs = performance.now() + ms;
    if (isSooner && group.pollTimer !== null && group.pollAtMs <= atMs) return;
    group.clearPoll();
    group.pollAtMs = atMs;
    group.pollTimer = setTimeout(() => {
      group.pollTimer = null;
      if (group.members.size === 0) this.#keepEmpty(group);
      // At its due time a job is found as it should be; only what was due before and never told of counts as swept.
      else this.#stir(group, !isSooner);
    }, ms).unref();
  }

  #keepEmpty(group: Group): void {
    if (performance.now() - group.emptySinceMs < emptyMs) {
      this.#pollIn(group, this.#pollMs(group));
      return;
    }
    group.close();
    this.#groups.delete(group.key);
  }
}
