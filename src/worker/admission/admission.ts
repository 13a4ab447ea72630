import {
  type AdmissionDecision,
  type AdmissionRules,
  type Denial,
  ownMemoryBound,
} from '../../core/admission.js';
import type { LaneKind } from '../../core/lane-kind.js';
import { readTextBelow } from '../../internal/cgroup-levels.js';
import type { Logger } from '../../internal/logger.js';
import { readSystemMemory } from '../../internal/system-memory.js';
import type { Settlement } from '../../storage/settlement.js';
import type { WorkerStorage } from '../../storage/worker-storage.js';
import type { Attempt } from '../attempt.js';
import type { LaneUsage } from '../lanes/lane.js';
import { monotonicMs } from '../monotonic.js';
import { AdmissionGate } from './admission-gate.js';
import { HandlerProfiles } from './handler-profiles.js';
import type { Neighbours } from './neighbours.js';

export interface AdmissionSettings extends AdmissionRules {
  /** Whether what handlers need is judged by their recent attempts. */
  readonly asksProfiles: boolean;
  /** Whether the memory of the machine is asked. */
  readonly asksSystem: boolean;
  readonly profileWindowMs: number;
  readonly profileTtlMs: number;
}

export interface AdmissionOptions {
  readonly settings: AdmissionSettings;
  readonly storage: WorkerStorage;
  readonly neighbours: Neighbours;
  readonly namesOf: ReadonlyMap<LaneKind, readonly string[]>;
  readonly kindOf: (name: string) => LaneKind;
  readonly endsAtMs: number | null;
  /** Resident memory at which this process makes room for a fresh one; 0: never; null: nobody would, as in a program. */
  readonly recycleAtBytes: number | null;
  readonly random: () => number;
  readonly logger: Logger;
}

/** What was denied for its own memory is strained for so long: denied names are asked again within 10 s. */
const strainMs = 30_000;

/** The gate of a worker, with what feeds it. */
export class Admission {
  readonly gate: AdmissionGate;
  readonly #options: AdmissionOptions;
  readonly #profiles: HandlerProfiles;
  readonly #denied = { time: 0, 'own-memory': 0, 'system-memory': 0 };
  #strain: { readonly untilMs: number; readonly sentence: string } | null = null;

  constructor(options: AdmissionOptions) {
    const { settings, storage, neighbours, namesOf, logger, recycleAtBytes } = options;
    this.#options = options;
    this.#profiles = new HandlerProfiles({
      storage,
      names: [...namesOf.values()].flat(),
      windowMs: settings.profileWindowMs,
      ttlMs: settings.profileTtlMs,
      logger,
    });
    const readText = readTextBelow('/');
    this.gate = new AdmissionGate({
      ...options,
      rules: settings,
      profiles: settings.asksProfiles ? this.#profiles : null,
      readMemory: () => (settings.asksSystem ? readSystemMemory(readText) : null),
      ownBytes: () => process.memoryUsage.rss(),
      ownMaxBytes:
        recycleAtBytes === null ? null : ownMemoryBound(recycleAtBytes, settings.memoryHeadroomBytes),
      onDenied: (denial) => this.#noteDenial(denial),
      hasNeighbours: () => neighbours.any,
    });
  }

  /** How many jobs were put back since the start of this worker, by reason. */
  get denied(): Readonly<Record<Denial['reason'], number>> {
    return { ...this.#denied };
  }

  /** Why jobs are denied for the memory of this process, where nothing makes room for a fresh one; null: they are not. */
  get ownStrain(): string | null {
    if (this.#strain !== null && this.#strain.untilMs <= monotonicMs()) this.#strain = null;
    return this.#strain?.sentence ?? null;
  }

  /** A run with an end waits for what is known of its jobs; any other finds out while it works. */
  async open(): Promise<void> {
    const known = this.refresh();
    if (this.#options.endsAtMs !== null) await known;
  }

  /** Called now and then. Never rejects. */
  async refresh(): Promise<void> {
    await Promise.all([this.#profiles.refresh(), this.#options.neighbours.refresh()]);
  }

  /** Whether it may start now. `isIdle`: nothing runs here. */
  judge(name: string, isIdle: boolean): AdmissionDecision {
    return this.gate.judge(name, isIdle);
  }

  /** Attempts that failed, timed out or were killed teach as well; only one that was given back untried does not. */
  ended({ job, abortCause }: Attempt, settlement: Settlement | null, durationMs: number): void {
    if (settlement?.kind === 'put-back' && abortCause === null) return;
    this.#profiles.observe(job.name, durationMs);
  }

  used({ job }: Attempt, { peakRssBytes }: LaneUsage): void {
    this.#profiles.observeMemory(job.name, peakRssBytes);
  }

  #noteDenial({ reason, sentence }: Denial): void {
    this.#denied[reason] += 1;
    if (reason === 'own-memory' && this.#options.recycleAtBytes === null)
      this.#strain = { untilMs: monotonicMs() + strainMs, sentence };
  }

  /** Never rejects. */
  close(): Promise<void> {
    return this.#profiles.close();
  }
}
