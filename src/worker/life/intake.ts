/**
 * From a claim to a slot: jobs of lanes start at once or go back, inline jobs go through the buffer. Before a start three
 * things are asked, in this order: may anything start (the worker is open, no job must run alone), is the lease sure, is the
 * job admitted. What may not start goes back uncharged, with the reason for `why`.
 */
import type { ClaimedJob } from '../../storage/claimed-job.js';
import type { AdminState } from '../../storage/worker-record.js';
import type { Admission } from '../admission/admission.js';
import type { Buffer, BufferedJob } from '../buffer.js';
import type { BufferDepth } from '../buffer-depth.js';
import type { PlannedClaim } from '../claims/claim-plan.js';
import { interleave } from '../claims/interleave.js';
import type { LoneRun } from '../lone-run.js';
import { monotonicMs } from '../monotonic.js';
import type { Runner } from '../runner.js';
import { kindOf } from './kind-of.js';
import type { LifeOptions } from './life-options.js';
import type { Results } from './results.js';
import type { Slots } from './slots.js';

export interface IntakeOptions extends Pick<LifeOptions, 'host' | 'membership' | 'isOpen'> {
  readonly buffer: Buffer;
  readonly depth: BufferDepth;
  readonly slots: Slots;
  readonly admission: Admission;
  readonly runner: Runner;
  readonly results: Results;
  readonly loneRun: LoneRun;
  readonly hasLanes: boolean;
  readonly adminState: () => AdminState;
}

const makesRoom = 'makes room for a job that must run alone';

export class Intake {
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** The answer to a claim. */
  claimed(jobs: readonly ClaimedJob[], claim: PlannedClaim, askedAtMs: number): void {
    const { runner, loneRun, depth } = this.#options;
    runner.supersede(jobs);
    const inline = this.#startInLanes(claim.takes.length > 1 ? interleave(jobs) : jobs, askedAtMs);
    if (claim.alone) loneRun.noteClaimed(jobs.length);
    else if (inline.length > 0 && inline.length >= inlineLimit(claim)) depth.grow();
    this.#keep(inline, jobs, askedAtMs);
  }

  /** What a hub gave by itself, for room that stood. */
  given(jobs: readonly ClaimedJob[], isAlone: boolean, askedAtMs: number): void {
    const { runner, loneRun, results, adminState } = this.#options;
    runner.supersede(jobs);
    const inline = this.#startInLanes(jobs, askedAtMs);
    if (isAlone) loneRun.noteClaimed(jobs.length);
    const isBeside = loneRun.isExclusive && !isAlone;
    if (isBeside) results.putBack(inline, makesRoom);
    else this.#keep(inline, jobs, askedAtMs);
    if (adminState() === 'drain') this.returnBuffer('operator set drain');
  }

  /** Starts what is buffered, where that may be. */
  fill(): void {
    if (this.#options.isOpen() && this.#options.loneRun.mayFill) this.#fill();
  }

  /** All of it: it has not started. */
  returnBuffer(reason: string): void {
    const unstarted = this.#options.buffer.remove(() => true).map(({ job }) => job);
    this.#options.results.putBack(unstarted, reason);
  }

  makeRoom(): void {
    this.returnBuffer(makesRoom);
  }

  /** What is buffered of these queues goes back. */
  returnPaused(names: readonly string[]): void {
    const { buffer, results } = this.#options;
    if (names.length === 0 || buffer.size === 0) return;
    const paused = new Set(names);
    const unstarted = buffer.remove(({ job }) => paused.has(job.queue)).map(({ job }) => job);
    results.putBack(unstarted, 'queue paused');
  }

  #keep(inline: readonly ClaimedJob[], all: readonly ClaimedJob[], askedAtMs: number): void {
    const { buffer, depth, isOpen, loneRun } = this.#options;
    buffer.add(inline, { claimedAtMs: monotonicMs(), askedAtMs });
    if (all.some((job) => this.#isBounded(job))) depth.holdOff(monotonicMs());
    if (!isOpen()) this.returnBuffer('worker-stopping');
    else if (loneRun.mayFill) this.#fill();
    else this.makeRoom();
  }

  /** Storage gives it only to be started at once. */
  #isBounded({ queue, limit, cost, requires }: ClaimedJob): boolean {
    if (limit !== null || cost !== 1 || requires.length > 0) return true;
    return Object.hasOwn(this.#options.host.settings.budgets.queues, queue);
  }

  /** Starts those that have lanes of their own; answers with the others. */
  #startInLanes(jobs: readonly ClaimedJob[], askedAtMs: number): readonly ClaimedJob[] {
    const { host, hasLanes, isOpen, runner, results } = this.#options;
    if (!hasLanes) return jobs;
    const inline: ClaimedJob[] = [];
    for (const job of jobs) {
      if (kindOf(host.definitions, job.name) === 'inline') inline.push(job);
      else if (!isOpen()) results.putBack([job], 'worker-stopping');
      else if (!this.#isSureSince(askedAtMs)) results.putBack([job], 'the claim was answered too late');
      else if (runner.hasSlotFor(job)) {
        if (this.#admits(job)) runner.start({ job, claimedAtMs: monotonicMs(), askedAtMs });
      } else results.putBack([job], 'its lane was lost before it could start');
    }
    return inline;
  }

  /**
   * A worker that was frozen, or was answered late, can't know whether its leases still hold: nothing is started until a
   * renewal has told which do.
   */
  #fill(): void {
    const { buffer, runner } = this.#options;
    if (buffer.size > 0) runner.fill(buffer, this.#isSure, this.#admitsInline);
  }

  readonly #isSure = ({ askedAtMs }: BufferedJob): boolean => this.#isSureSince(askedAtMs);

  readonly #admitsInline = (job: ClaimedJob): boolean => {
    if (!this.#options.admission.gate.isCalm) return this.#admits(job);
    this.#options.slots.noteStart();
    return true;
  };

  /** Whether a lease that was asked for then, or renewed for the last time, has surely not lapsed. */
  #isSureSince(askedAtMs: number): boolean {
    return monotonicMs() - askedAtMs < this.#options.membership.leaseMs();
  }

  /** Whether it may start; else it is put back, with the reason for `why`. */
  #admits(job: ClaimedJob): boolean {
    const { admission, runner, slots, results, host } = this.#options;
    const decision = admission.judge(job.name, runner.size === 0);
    if (decision.admit) {
      slots.noteStart();
      return true;
    }
    const { id, token } = job;
    const random = host.random ?? Math.random;
    const delayMs = Math.round(decision.retryInMs * (1 + random()));
    results.send({ id, token, kind: 'put-back', delayMs, reason: `not-admitted: ${decision.sentence}` }, job);
    return false;
  }
}

function inlineLimit({ parts }: PlannedClaim): number {
  const inline = parts.filter(({ of }) => of.kind === 'inline');
  return inline.reduce((total, { part }) => total + part.limit, 0);
}
