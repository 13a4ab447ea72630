import { decodeJson } from '../internal/json.js';
import { MemoryStorage } from '../storage/memory/storage.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';

/** Time that stands still until a test moves it. */
export class KitClock {
  nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }
}

/** A job as it was dispatched. */
export interface RecordedDispatch<Input = unknown> {
  readonly id: string;
  readonly name: string;
  /** What JSON gives back of the input; a schema of the job has accepted it, and has not changed it yet. */
  readonly input: Input;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  /** By the clock of the kit, as is `dueAt`. */
  readonly dispatchedAt: Date;
  readonly dueAt: Date;
  /** Ids of the jobs it was to wait for. */
  readonly after: readonly string[];
}

type OnWake = (queues: readonly string[] | null) => void;

/** The memory storage on the clock of a kit. It keeps what was dispatched, in order, also of jobs that are deleted later. */
export class KitStorage extends MemoryStorage {
  readonly dispatches: RecordedDispatch[] = [];
  readonly #clock: KitClock;
  readonly #watchers = new Set<{ readonly onWake: OnWake }>();

  constructor(clock: KitClock) {
    super({ systemNow: () => clock.nowMs });
    this.#clock = clock;
  }

  override async enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const outcomes = await super.enqueue(jobs);
    jobs.forEach((job, index) => {
      if (outcomes[index]?.outcome === 'created') this.dispatches.push(this.#recordOf(job));
    });
    return outcomes;
  }

  override async watch(onWake: OnWake): Promise<AsyncDisposable> {
    const watcher = { onWake };
    const inner = await super.watch(onWake);
    this.#watchers.add(watcher);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#watchers.delete(watcher);
        await inner[Symbol.asyncDispose]();
      },
    };
  }

  /** For workers of the test's own: their timers know nothing of a clock that was moved. */
  wakeAll(): void {
    for (const { onWake } of this.#watchers) onWake(null);
  }

  #recordOf({ id, name, payload, queue, priority, maxAttempts, due, after }: NewJob): RecordedDispatch {
    const { nowMs } = this.#clock;
    return Object.freeze({
      id,
      name,
      input: decodeJson(payload, `input of job "${name}"`),
      queue,
      priority,
      maxAttempts,
      dispatchedAt: new Date(nowMs),
      dueAt: new Date('atMs' in due ? due.atMs : nowMs + due.inMs),
      after: after?.ids ?? [],
    });
  }
}
