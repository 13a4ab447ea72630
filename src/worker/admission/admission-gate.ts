/**
 * What stands between a claimed job and its slot: whether the process has the time and the machine the memory for it.
 *
 *   open ──a job is denied──▶ the job goes back, uncharged, with the reason; its name is *held*: not claimed until the wait
 *                             is over (time that has run out does not come back: until the end of this run)
 *
 * While memory is short (`isTight`) or time is bounded nothing is buffered, so that no more jobs are taken than could start.
 * What is not known denies nothing: no profile, no answer of the system. A denial costs the job its turn and nothing else.
 */
import {
  type AdmissionDecision,
  type AdmissionFacts,
  type AdmissionRules,
  type Denial,
  decideAdmission,
  recycleMemoryShare,
} from '../../core/admission.js';
import type { LaneKind } from '../../core/lane-kind.js';
import { formatDuration } from '../../internal/duration.js';
import type { Logger } from '../../internal/logger.js';
import type { SystemMemory } from '../../internal/system-memory.js';
import { monotonicMs } from '../monotonic.js';
import type { HandlerProfiles } from './handler-profiles.js';

export interface AdmissionGateOptions {
  /** Null: what handlers were seen to need is not asked (`MILLRACE_RESOURCE_ADMISSION=off`). */
  readonly profiles: Pick<HandlerProfiles, 'of' | 'hungriestBytes'> | null;
  readonly rules: AdmissionRules;
  readonly namesOf: ReadonlyMap<LaneKind, readonly string[]>;
  readonly kindOf: (name: string) => LaneKind;
  /** The time of this run is over then, monotonic ms; null: it has no end. */
  readonly endsAtMs: number | null;
  readonly readMemory: () => SystemMemory | null;
  readonly ownBytes: () => number;
  /** Null: a share of what there is. */
  readonly ownMaxBytes: number | null;
  readonly hasNeighbours: () => boolean;
  readonly random: () => number;
  /** A job has just been denied. */
  readonly onDenied?: (denial: Denial) => void;
  readonly logger: Logger;
  readonly now?: () => number;
}

/** How long what was read of the memory counts: it is read in the way of jobs that start. */
const calmReadMs = 1_000;
const tightReadMs = 200;
/** A process has taken what it will need within so long, as a rule; from then on the system tells. */
const promiseMs = 5_000;
const nobody: readonly string[] = [];
const admitted: AdmissionDecision = Object.freeze({ admit: true, despite: null });

interface Promised {
  readonly untilMs: number;
  readonly bytes: number;
}

export class AdmissionGate {
  readonly #options: AdmissionGateOptions;
  readonly #now: () => number;
  /** For how old a reading is: asked often, and cheaper than the clock that all threads share. */
  readonly #readingNow: () => number;
  readonly #held = new Map<string, { readonly untilMs: number; readonly denial: Denial }>();
  #free = new Map<LaneKind, readonly string[]>();
  #freeUntilMs = Number.NEGATIVE_INFINITY;
  #memory: SystemMemory | null = null;
  #ownBytes = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isTight = false;
  #promised: Promised[] = [];

  constructor(options: AdmissionGateOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
    this.#readingNow = options.now ?? (() => performance.now());
  }

  /** Jobs may be taken only for slots that are free now. */
  get isGuarded(): boolean {
    this.#look();
    return this.#isTight || this.#options.endsAtMs !== null;
  }

  /** Inline jobs start unasked: when the memory was read for their claim (`isGuarded`), there was plenty. */
  get isCalm(): boolean {
    const hasRead = this.#readAtMs > Number.NEGATIVE_INFINITY;
    return hasRead && !this.#isTight && this.#options.endsAtMs === null;
  }

  /** What is held, for `why`: by name, with the reason in words. */
  get held(): Record<string, string> {
    this.#release();
    return Object.fromEntries([...this.#held].map(([name, { denial }]) => [name, denial.sentence]));
  }

  /** Names that may be claimed now for slots of this kind. */
  names(kind: LaneKind): readonly string[] {
    if (this.#isOver) return nobody;
    if (this.#held.size === 0) return this.#options.namesOf.get(kind) ?? nobody;
    this.#release();
    return this.#free.get(kind) ?? nobody;
  }

  /** Called for each job that is about to start. `isIdle`: nothing runs here. */
  judge(name: string, isIdle: boolean): AdmissionDecision {
    const { endsAtMs, profiles, kindOf } = this.#options;
    if (this.isCalm && kindOf(name) === 'inline') return admitted;
    this.#look();
    if (!this.#isTight && endsAtMs === null && this.#promised.length === 0) return this.#admitted(name);
    const decision = decideAdmission(this.#facts(name, isIdle), this.#options.rules);
    if (decision.admit) {
      if (decision.despite !== null) this.#warn(name, decision.despite);
      return this.#admitted(name, decision);
    }
    // Without profiles only what needs none is asked: the end of the run.
    if (profiles === null && decision.reason !== 'time') return this.#admitted(name);
    this.#hold(name, decision);
    return decision;
  }

  /** The rest of the time is what is added to be safe: nothing starts any more. */
  get #isOver(): boolean {
    const { endsAtMs, rules } = this.#options;
    return endsAtMs !== null && endsAtMs - this.#now() < rules.timeHeadroomMs;
  }

  #admitted(name: string, decision: AdmissionDecision = admitted): AdmissionDecision {
    const { profiles, kindOf } = this.#options;
    const bytes = profiles === null || kindOf(name) === 'inline' ? null : profiles.of(name)?.peakRssBytes;
    if (bytes != null) this.#promised.push({ untilMs: this.#now() + promiseMs, bytes });
    return decision;
  }

  #facts(name: string, isIdle: boolean): AdmissionFacts {
    const { profiles, kindOf, endsAtMs, hasNeighbours } = this.#options;
    const now = this.#now();
    this.#promised = this.#promised.filter(({ untilMs }) => untilMs > now);
    return {
      profile: profiles?.of(name) ?? null,
      isInline: kindOf(name) === 'inline',
      timeLeftMs: endsAtMs === null ? null : endsAtMs - now,
      availableBytes: this.#memory?.availableBytes ?? null,
      promisedBytes: this.#promised.reduce((sum, { bytes }) => sum + bytes, 0),
      ownBytes: this.#ownBytes,
      ownMaxBytes: this.#ownMaxBytes,
      isIdle,
      hasNeighbours: hasNeighbours(),
    };
  }

  get #ownMaxBytes(): number | null {
    if (this.#options.ownMaxBytes !== null) return this.#options.ownMaxBytes;
    return this.#memory === null ? null : this.#memory.totalBytes * recycleMemoryShare;
  }

  /** Reads the memory when what is known of it is old. */
  #look(): void {
    const { profiles, readMemory, ownBytes, rules } = this.#options;
    const now = this.#readingNow();
    if (profiles === null || now - this.#readAtMs < (this.#isTight ? tightReadMs : calmReadMs)) return;
    this.#readAtMs = now;
    this.#memory = readMemory();
    this.#ownBytes = ownBytes();
    const available = this.#memory?.availableBytes ?? Number.POSITIVE_INFINITY;
    const ownMax = this.#ownMaxBytes ?? Number.POSITIVE_INFINITY;
    this.#isTight =
      available < profiles.hungriestBytes() + rules.systemMemoryHeadroomBytes ||
      this.#ownBytes + rules.memoryHeadroomBytes > ownMax;
  }

  #hold(name: string, denial: Denial): void {
    const untilMs =
      denial.reason === 'time'
        ? Number.POSITIVE_INFINITY
        : this.#now() + denial.retryInMs * (1 + this.#options.random());
    if (!this.#held.has(name)) this.#log(name, denial);
    this.#options.onDenied?.(denial);
    this.#held.set(name, { untilMs, denial });
    this.#freeUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** Lets go of names whose wait is over. */
  #release(): void {
    const now = this.#now();
    if (now < this.#freeUntilMs) return;
    for (const [name, { untilMs }] of this.#held) if (untilMs <= now) this.#held.delete(name);
    this.#free = new Map(
      [...this.#options.namesOf].map(([kind, names]) => [
        kind,
        names.filter((name) => !this.#held.has(name)),
      ]),
    );
    this.#freeUntilMs = Math.min(...[...this.#held.values()].map(({ untilMs }) => untilMs));
  }

  #log(name: string, { sentence, numbers, retryInMs }: Denial): void {
    const wait = retryInMs === 0 ? {} : { again: `in ${formatDuration(retryInMs)} or more` };
    this.#options.logger.info(`jobs "${name}" are not admitted: ${sentence}`, { name, ...numbers, ...wait });
  }

  #warn(name: string, { sentence, numbers }: Denial): void {
    this.#options.logger.warn(
      `a job "${name}" is admitted since nothing else runs here, although ${sentence}`,
      {
        name,
        ...numbers,
      },
    );
  }
}
