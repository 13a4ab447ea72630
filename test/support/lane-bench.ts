import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { RunnableJob } from '../../src/client/job-definition.js';
import type { Logger } from '../../src/internal/logger.js';
import { uuidv7 } from '../../src/internal/uuid.js';
import { version } from '../../src/internal/version.js';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import { LooseFiles } from '../../src/storage/files/loose-files.js';
import type { NewLogLine } from '../../src/storage/job-log.js';
import type { NewJob } from '../../src/storage/new-job.js';
import { type AbortCause, Attempt } from '../../src/worker/attempt.js';
import type { LaneEnding, LanePorts } from '../../src/worker/lanes/lane.js';
import type { LaneStepTaken } from '../../src/worker/lanes/lane-steps.js';
import { laneExecArgv } from '../../src/worker/lanes/process/exec-argv.js';
import { laneFile } from '../../src/worker/lanes/process/lane-file.js';
import { LaneFolders } from '../../src/worker/lanes/process/lane-folders.js';
import { type LaneDeadlines, ProcessLane } from '../../src/worker/lanes/process/process-lane.js';
import { monotonicMs } from '../../src/worker/monotonic.js';
import { waitFor } from './wait-for.js';

const megabyte = 1024 ** 2;
const module = pathToFileURL(fileURLToPath(new URL('./lane-module.mjs', import.meta.url))).href;

export interface LaneBenchOptions {
  readonly killGraceMs?: number;
  readonly maxMemoryBytes?: number;
  readonly deadlines?: Partial<LaneDeadlines>;
  readonly module?: string;
  readonly names?: readonly string[];
  readonly version?: string;
  /** Where its folders are. */
  readonly folders?: string;
}

/** One real process lane with a real child, and what it tells its worker. */
export class LaneBench implements AsyncDisposable {
  readonly lines: NewLogLine[] = [];
  readonly said: string[] = [];
  readonly steps: LaneStepTaken[] = [];
  readonly enqueued: NewJob[] = [];
  readonly stderr: Buffer[] = [];
  readonly lane: ProcessLane;
  readonly folders: LaneFolders;
  readonly pids = new Set<number>();
  renewed = 0;
  isHeld = true;
  changes = 0;

  constructor(options: LaneBenchOptions = {}) {
    const { maxMemoryBytes = 512 * megabyte, deadlines = {}, killGraceMs = 300 } = options;
    const file = laneFile();
    if (file === null) throw new Error('the built program of a lane is missing: npm run build');
    const { folders: root } = options;
    const logger = this.#logger;
    this.folders = new LaneFolders({ logger, size: 1, retryMs: 0, ...(root === undefined ? {} : { root }) });
    this.lane = new ProcessLane({
      number: 1,
      ports: this.#ports(killGraceMs),
      file,
      execArgv: laneExecArgv([], maxMemoryBytes),
      folders: this.folders,
      hello: {
        version: options.version ?? version,
        module: options.module ?? module,
        names: options.names ?? ['act'],
        database: null,
        settings: null,
        cacheFolder: tmpdir(),
      },
      maxMemoryBytes,
      onStderr: (chunk) => this.stderr.push(chunk),
      deadlines,
    });
  }

  async started(): Promise<this> {
    await this.lane.start();
    return this;
  }

  attempt(input: object, job: Partial<ClaimedJob> = {}): Attempt {
    const now = monotonicMs();
    const times = { claimedAtMs: now, startedAtMs: now };
    return new Attempt({ ...claimed(input), ...job }, definition, times);
  }

  async run(input: object, job: Partial<ClaimedJob> = {}): Promise<LaneEnding> {
    return await this.lane.run(this.attempt(input, job));
  }

  abort(attempt: Attempt, cause: AbortCause): void {
    attempt.abort(cause, monotonicMs());
    this.lane.abort(attempt);
  }

  async idle(): Promise<void> {
    await waitFor(() => this.lane.state === 'idle', {
      describe: () => `lane to be idle, it is ${this.lane.state}: ${this.lane.snapshot().note}`,
      deadlineMs: 60_000,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lane.stop({ deadlineMs: 5_000 });
  }

  get #logger(): Logger {
    const say = (message: string): void => void this.said.push(message);
    return { debug: say, info: say, warn: say, error: say };
  }

  #ports(killGraceMs: number): LanePorts {
    const logger = this.#logger;
    return {
      run: () => Promise.reject(new Error('a process runs its handlers itself')),
      context: {
        log: (line) => void this.lines.push(line),
        dispatch: () => Promise.reject(new Error('a lane enqueues')),
        renew: () => {
          this.renewed += 1;
          return Promise.resolve(this.isHeld);
        },
        settleIn: () => Promise.reject(new Error('a lane settles by itself')),
        settleInSync: () => {
          throw new Error('a lane settles by itself');
        },
        wasSettled: () => Promise.resolve(false),
        files: new LooseFiles(),
        maxPayloadBytes: megabyte,
        logger,
      },
      enqueue: (jobs) => {
        this.enqueued.push(...jobs);
        return Promise.resolve(jobs.map(({ id }) => ({ outcome: 'created', id })));
      },
      workerId: 'w-test',
      maxPayloadBytes: megabyte,
      killGraceMs,
      logger,
      random: () => 0,
      now: Date.now,
      onStep: (taken) => void this.steps.push(taken),
      onChange: () => {
        this.changes += 1;
        const { pid } = this.lane?.snapshot() ?? { pid: null };
        if (pid !== null) this.pids.add(pid);
      },
    };
  }
}

const definition = {
  name: 'act',
  timeoutMs: 60_000,
  upcast: [],
} as unknown as RunnableJob;

function claimed(input: object): ClaimedJob {
  const now = Date.now();
  return {
    id: uuidv7(),
    token: randomBytes(16).toString('hex'),
    name: 'act',
    queue: 'default',
    payload: JSON.stringify(input),
    version: 1,
    priority: 0,
    attempts: 0,
    maxAttempts: 3,
    deaths: 0,
    lapses: 0,
    started: true,
    errors: null,
    createdAtMs: now,
    dueAtMs: now,
  } as ClaimedJob;
}
