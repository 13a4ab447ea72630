/**
 * A lane that owns one Chrome and runs one job at a time with it: the handler runs in the worker, its pages in that Chrome.
 *
 *   starting ──answers and has rendered a page──▶ idle ⇄ busy (a fresh context for each job)
 *      ▲                                            │ Chrome exits, its pipe closes, or it stops answering
 *      └───────── a new Chrome, a new folder ◀──────┘   (a job that ran then is told as died)
 *
 * Who does what: the supervisor keeps a Chrome alive (waits, quarantine); this lane gives it out, ends what a job left in it,
 * and says how an attempt ended. A handler that returns although its Chrome has died has done its work, and that counts;
 * one that throws then, or goes on past the grace, has died with its lane.
 */
import type { ProcessEnd } from '../../internal/group-process.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import type { Settlement } from '../../storage/settlement.js';
import type { Attempt } from '../../worker/attempt.js';
import type {
  Lane,
  LaneContext,
  LaneEnding,
  LanePorts,
  LaneSnapshot,
  LaneState,
} from '../../worker/lanes/lane.js';
import { LaneSupervisor } from '../../worker/lanes/lane-supervisor.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { type JobPage, openJobPage } from '../context/job-page.js';

export interface BrowserLaneOptions {
  readonly number: number;
  readonly ports: LanePorts;
  /** A Chrome in a folder that nothing else uses. */
  readonly spawn: () => Promise<ChromeProcess>;
}

const startMs = 15_000;
const farewellMs = 2_000;

interface Running {
  readonly attempt: Attempt;
  /** Epoch ms. */
  readonly startedAtMs: number;
  /** Chrome has gone under it. */
  died: ProcessEnd | null;
  readonly onDeath: (end: ProcessEnd) => void;
}

export class BrowserLane implements Lane {
  readonly kind = 'browser';
  readonly number: number;
  readonly #options: BrowserLaneOptions;
  readonly #supervisor: LaneSupervisor<ChromeProcess>;
  #isStopping = false;
  #running: Running | null = null;
  #jobsDone = 0;
  #onSettled: (() => void)[] = [];

  constructor(options: BrowserLaneOptions) {
    const { number, ports } = options;
    this.number = number;
    this.#options = options;
    this.#supervisor = new LaneSupervisor<ChromeProcess>({
      name: `lane ${number}`,
      logger: ports.logger,
      random: ports.random,
      startMs,
      firstDeed: 'answered and rendered a page',
      spawn: () => this.#spawn(),
      onWell: () => undefined,
      onEnd: (end) => this.#chromeEnded(end),
      onChange: () => this.#tellChange(),
    });
  }

  get state(): LaneState {
    const { state } = this.#supervisor;
    if (this.#isStopping) return state === 'stopped' ? 'stopped' : 'stopping';
    if (state === 'well') return this.#running === null ? 'idle' : 'busy';
    return state;
  }

  start(): Promise<void> {
    this.#supervisor.start();
    return new Promise((resolve) => {
      this.#onSettled.push(resolve);
      this.#tellSettled();
    });
  }

  async run(attempt: Attempt): Promise<LaneEnding> {
    const { child: chrome } = this.#supervisor;
    if (this.state !== 'idle' || chrome === null) return this.#refusal(`is ${this.state}`);
    let onDeath: (end: ProcessEnd) => void = () => undefined;
    const death = new Promise<ProcessEnd>((resolve) => {
      onDeath = resolve;
    });
    const running: Running = { attempt, startedAtMs: Date.now(), died: null, onDeath };
    this.#running = running;
    this.#options.ports.onChange();
    try {
      return await this.#runIn(chrome, running, death);
    } finally {
      this.#running = null;
      this.#jobsDone += 1;
      this.#options.ports.onChange();
    }
  }

  abort(_attempt: Attempt): void {
    // To be widened: the ladder.
  }

  async stop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#isStopping = true;
    const { child } = this.#supervisor;
    if (this.#running === null) child?.connection.browser.send('Browser.close').catch(() => undefined);
    else child?.kill('the worker stops');
    this.#options.ports.onChange();
    await this.#supervisor.stop(Math.min(deadlineMs, farewellMs));
  }

  snapshot(): LaneSnapshot {
    const { number, kind, state } = this;
    const { child, restarts, note } = this.#supervisor;
    const running = this.#running;
    return {
      number,
      kind,
      state,
      job:
        running === null
          ? null
          : {
              id: running.attempt.job.id,
              name: running.attempt.job.name,
              attempt: running.attempt.job.attempts + 1,
              startedAtMs: running.startedAtMs,
            },
      pid: child?.pid ?? null,
      restarts,
      jobsDone: this.#jobsDone,
      rssBytes: null,
      note,
    };
  }

  async #spawn(): Promise<ChromeProcess> {
    const chrome = await this.#options.spawn();
    chrome.connection.browser
      .send('Browser.getVersion', undefined, { deadlineMs: startMs })
      .then(() => this.#supervisor.ready())
      .catch(() => undefined);
    return chrome;
  }

  async #runIn(chrome: ChromeProcess, running: Running, death: Promise<ProcessEnd>): Promise<LaneEnding> {
    const { ports } = this.#options;
    const { browser } = chrome.connection;
    let page: JobPage;
    try {
      page = await openJobPage(chrome.connection, {
        signal: running.attempt.signal,
        hasPuppeteer: true,
      });
    } catch (error) {
      chrome.kill(`could not open a page: ${(error as Error).message}`);
      return this.#refusal('could not open a page');
    }
    const { browserContextId } = page;
    const ran = ports.run(running.attempt, page.members as unknown as LaneContext);
    const over = death.then(
      () => new Promise<'over'>((resolve) => setLongTimeout(() => resolve('over'), ports.killGraceMs)),
    );
    const settlement: Settlement | null | 'over' = await Promise.race([ran, over]);
    browser.send('Target.disposeBrowserContext', { browserContextId }).catch(() => undefined);
    if (running.died !== null && (settlement === 'over' || settlement?.kind !== 'completed'))
      return { kind: 'died', ...running.died, usage: null };
    return { kind: 'settled', settlement: settlement === 'over' ? null : settlement, usage: null };
  }

  /** Whether it was under a job. */
  #chromeEnded(end: ProcessEnd): boolean {
    const running = this.#running;
    if (running === null) return false;
    running.died = end;
    running.onDeath(end);
    return true;
  }

  #refusal(reason: string): LaneEnding {
    return { kind: 'refused', reason: `lane ${this.number} ${reason}` };
  }

  #tellChange(): void {
    this.#tellSettled();
    this.#options.ports.onChange();
  }

  #tellSettled(): void {
    if (this.state === 'starting' || (this.#isStopping && this.state !== 'stopped')) return;
    for (const resolve of this.#onSettled.splice(0)) resolve();
  }
}
