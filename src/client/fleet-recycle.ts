import { setTimeout as pause } from 'node:timers/promises';
import {
  type FleetMember,
  type FleetRecyclePlan,
  type FleetStep,
  type FleetStop,
  mostAwayOf,
  stepFleetRecycle,
} from '../core/fleet-recycle.js';
import { spell } from '../core/spell-duration.js';
import { isMillraceError } from '../internal/errors.js';
import type { WorkerChangeOutcome } from '../storage/worker-record.js';
import type { OperatorOptions, WorkerDeed } from './fleet-control.js';
import {
  type RecycleFleetOptions,
  type ResolvedRecycleFleet,
  resolveRecycleFleet,
} from './fleet-recycle-options.js';
import type { WorkerListing } from './worker-view.js';

/** How far a fleet's recycle is, in ids of workers. */
export interface FleetRecycleReport {
  /** `stopped`: one worker did not come back, or did not get done; `aborted`: by the signal. */
  readonly outcome: 'going' | 'done' | 'stopped' | 'aborted';
  /** Why it has stopped, in a sentence; null while it has not. */
  readonly reason: string | null;
  readonly total: number;
  /** A fresh process runs in their place. */
  readonly back: readonly string[];
  /** Asked to: they wait for their turn, or finish what runs. */
  readonly asked: readonly string[];
  /** Ended; nobody runs in their place yet. */
  readonly away: readonly string[];
  readonly waiting: readonly string[];
  /** Ended by themselves before they were asked. */
  readonly left: readonly string[];
  /** Not heard of late, so never asked. */
  readonly unheard: readonly string[];
}

export interface FleetRecycleAccess {
  workers(): Promise<readonly WorkerListing[]>;
  change(deed: WorkerDeed, id: string, options: OperatorOptions): Promise<WorkerChangeOutcome>;
  note(action: string, result: string, options: OperatorOptions): Promise<void>;
}

const lookEveryMs = 500;

/**
 * Recycles every worker that lives, some at a time, and waits for each to come back before the next. While the database is
 * away nothing is asked and no time counts, for as long as a worker may take to come back.
 *
 * @throws MillraceError `option-invalid`, `option-unknown`; what the database says where it stays away
 */
export async function recycleFleet(
  access: FleetRecycleAccess,
  options: RecycleFleetOptions = {},
): Promise<FleetRecycleReport> {
  const resolved = resolveRecycleFleet(options);
  const run = new FleetRecycle(access, resolved, await access.workers());
  return await run.toTheEnd();
}

class FleetRecycle {
  readonly #access: FleetRecycleAccess;
  readonly #options: ResolvedRecycleFleet;
  readonly #plan: FleetRecyclePlan;
  readonly #unheard: readonly string[];
  #members: readonly FleetMember[];
  /** Time during which the registry could be read. */
  #seenMs = 0;
  #lastTold = '';

  constructor(access: FleetRecycleAccess, options: ResolvedRecycleFleet, workers: readonly WorkerListing[]) {
    this.#access = access;
    this.#options = options;
    const alive = workers.filter((worker) => worker.alive);
    this.#unheard = alive.filter(({ status }) => status === 'stale').map(({ id }) => id);
    this.#members = alive
      .filter(({ status }) => status !== 'stale')
      .map(({ id, incarnation }) => ({ id, incarnation, phase: 'waiting', sinceMs: 0 }));
    const { drainWithinMs, returnWithinMs, unavailable } = options;
    const mostAway = mostAwayOf(this.#members.length, unavailable);
    this.#plan = { mostAway, drainWithinMs, returnWithinMs };
  }

  async toTheEnd(): Promise<FleetRecycleReport> {
    const { operator, signal } = this.#options;
    const total = this.#members.length;
    if (total === 0) return this.#report('done', null);
    const plan = `started: ${total} workers, at most ${this.#plan.mostAway} away at once`;
    await this.#access.note('fleet.recycle', plan, operator);
    const report = await this.#steps(signal);
    const said = report.reason ?? report.outcome;
    const result = `${said}: ${report.back.length} of ${total} recycled`;
    await this.#access.note('fleet.recycle', result, operator);
    return report;
  }

  async #steps(signal: AbortSignal | undefined): Promise<FleetRecycleReport> {
    for (;;) {
      if (signal?.aborted === true) return this.#report('aborted', 'given up');
      const step = await this.#step();
      const reason = step.stop === null ? null : this.#sentence(step.stop);
      const report = this.#report(step.outcome, reason);
      this.#tell(report);
      if (step.outcome !== 'going') return report;
      // The abort is looked at above.
      await pause(lookEveryMs, undefined, { signal }).catch(() => undefined);
      this.#seenMs += lookEveryMs;
    }
  }

  async #step(): Promise<FleetStep> {
    const seen = await this.#patiently(() => this.#access.workers());
    const step = stepFleetRecycle(this.#plan, this.#members, seen, this.#seenMs);
    const unknown = new Set<string>();
    for (const id of step.ask) {
      const outcome = await this.#patiently(() => this.#access.change('recycle', id, this.#options.operator));
      if (outcome === 'not-found') unknown.add(id);
    }
    // Forgotten between the look and the question.
    this.#members = step.members.map((member) =>
      unknown.has(member.id) ? { ...member, phase: 'left' } : member,
    );
    return step;
  }

  /** A database that is away for less than a worker may be is no end. */
  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const isOver = performance.now() - startedAtMs >= this.#plan.returnWithinMs;
        const { signal } = this.#options;
        if (isOver || signal?.aborted === true || !isMillraceError(error) || !error.retryable) throw error;
        await pause(lookEveryMs);
      }
    }
  }

  #sentence({ reason, id }: FleetStop): string {
    const { drainWithinMs, returnWithinMs } = this.#plan;
    return reason === 'not-back'
      ? `no process runs in the place of ${id} ${spell(returnWithinMs)} after it ended`
      : `${id} has not ended ${spell(drainWithinMs)} after it was asked to`;
  }

  #report(outcome: FleetRecycleReport['outcome'], reason: string | null): FleetRecycleReport {
    const idsIn = (wanted: FleetMember['phase']): string[] =>
      this.#members.filter(({ phase }) => phase === wanted).map(({ id }) => id);
    return {
      outcome,
      reason,
      total: this.#members.length,
      back: idsIn('back'),
      asked: idsIn('asked'),
      away: idsIn('away'),
      waiting: idsIn('waiting'),
      left: idsIn('left'),
      unheard: this.#unheard,
    };
  }

  #tell(report: FleetRecycleReport): void {
    const told = JSON.stringify(report);
    if (told === this.#lastTold) return;
    this.#lastTold = told;
    this.#options.onProgress?.(report);
  }
}
