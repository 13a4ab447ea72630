import { BrowserLane, type BrowserLaneOptions } from '../../src/browser/lane/browser-lane.js';
import { spawnChrome } from '../../src/browser/lane/browser-lane-source.js';
import { GuardProxy } from '../../src/browser/net/guard-proxy.js';
import { TargetPolicy } from '../../src/browser/net/target-policy.js';
import type { BrowserMembers } from '../../src/client/browser-job.js';
import type { RunnableJob } from '../../src/client/job-definition.js';
import { PrivateTargets } from '../../src/internal/private-targets.js';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import type { Settlement } from '../../src/storage/settlement.js';
import { Attempt } from '../../src/worker/attempt.js';
import type { LaneEnding, LanePorts } from '../../src/worker/lanes/lane.js';
import type { LaneStepTaken } from '../../src/worker/lanes/lane-steps.js';
import { LaneFolders } from '../../src/worker/lanes/process/lane-folders.js';
import { monotonicMs } from '../../src/worker/monotonic.js';
import { chromes } from './chrome.js';
import { tempDir } from './temp.js';
import { waitFor } from './wait-for.js';

type Handler = (members: BrowserMembers, attempt: Attempt) => Promise<unknown>;

export interface BrowserBenchOptions
  extends Pick<BrowserLaneOptions, 'ping' | 'drawLimits' | 'pageTimes' | 'memoryLimits'> {
  readonly number?: number;
  /** @default the headless shell */
  readonly chrome?: (typeof chromes)[number];
}

/** One real browser lane with a Chrome of its own; its handlers are those of the test. */
export class BrowserLaneBench implements AsyncDisposable {
  readonly said: string[] = [];
  readonly steps: LaneStepTaken[] = [];
  /** Called with each change of state. */
  onChange: () => void = () => undefined;
  readonly lane: BrowserLane;
  readonly root = tempDir('browser-lane');
  readonly #handlers = new Map<Attempt, Handler>();

  constructor(options: BrowserBenchOptions = {}) {
    const { number = 1, chrome: kind = chromes[0] as (typeof chromes)[number] } = options;
    const ports = this.#ports();
    const folders = new LaneFolders({ logger: ports.logger, size: number, root: this.root.path, retryMs: 0 });
    const guard = new GuardProxy({
      policy: new TargetPolicy({ privateTargets: PrivateTargets.parse('all') as PrivateTargets }),
    });
    const spawn = async () => {
      const found = await kind.find();
      const chrome = {
        ...found,
        product: 'Chrome',
        isShell: true,
        hasSandbox: process.getuid?.() !== 0,
        hasSmallShm: true,
      };
      return await spawnChrome(chrome, { folders, number, guard });
    };
    this.lane = new BrowserLane({
      ...options,
      number,
      ports,
      spawn,
      guard,
      onStopped: () => {
        guard.close();
        return folders.leave(number);
      },
    });
  }

  async started(): Promise<this> {
    await this.lane.start();
    return this;
  }

  begin(handler: Handler): { readonly attempt: Attempt; readonly ending: Promise<LaneEnding> } {
    const now = monotonicMs();
    const attempt = new Attempt(
      { id: uuidv7(), name: 'act', attempts: 0 } as ClaimedJob,
      { name: 'act', timeoutMs: 60_000, upcast: [] } as unknown as RunnableJob,
      { claimedAtMs: now, startedAtMs: now },
    );
    this.#handlers.set(attempt, handler);
    return { attempt, ending: this.lane.run(attempt) };
  }

  run(handler: Handler): Promise<LaneEnding> {
    return this.begin(handler).ending;
  }

  get pid(): number {
    return this.lane.snapshot().pid ?? -1;
  }

  async idle(): Promise<void> {
    await waitFor(() => this.lane.state === 'idle', {
      describe: () => `lane to be idle, it is ${this.lane.state}: ${this.lane.snapshot().note}`,
      deadlineMs: 60_000,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lane.stop({ deadlineMs: 5_000 });
    await this.root[Symbol.asyncDispose]();
  }

  #ports(): LanePorts {
    const say = (message: string): void => void this.said.push(message);
    return {
      run: async (attempt: Attempt, added: unknown) => {
        try {
          const result = await this.#handlers.get(attempt)?.(added as BrowserMembers, attempt);
          return { kind: 'completed', result: JSON.stringify(result ?? null) } as unknown as Settlement;
        } catch (error) {
          return { kind: 'retry', errors: String(error) } as unknown as Settlement;
        }
      },
      killGraceMs: 400,
      logger: { debug: say, info: say, warn: say, error: say },
      random: () => 0,
      onChange: () => this.onChange(),
      onStep: (taken: LaneStepTaken) => void this.steps.push(taken),
    } as unknown as LanePorts;
  }
}
