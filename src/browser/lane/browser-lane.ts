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

import { drawLifeLimits, type LifeLimits, whyRestart } from '../../core/browser-lane-rules.js';
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
import { monotonicMs } from '../../worker/monotonic.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { type JobPage, openJobPage } from '../context/job-page.js';
import type { GuardProxy } from '../net/guard-proxy.js';
import { type PingTimes, pingChrome } from './chrome-ping.js';
import { cleanUp, disposeAll, stopPage } from './clean-up.js';
import { MemoryWatch } from './memory-watch.js';
import { PageGuard } from './page-guard.js';
import { smokeTest } from './smoke-test.js';

export interface BrowserLaneOptions {
  readonly number: number;
  readonly ports: LanePorts;
  /** A Chrome in a folder that nothing else uses. */
  readonly spawn: () => Promise<ChromeProcess>;
  /** What all its traffic goes through. */
  readonly guard: GuardProxy;
  /** The lane has stopped: what it wrote may go. */
  readonly onStopped?: () => Promise<void>;
  /** @default every 5 s, 5 s for an answer */
  readonly ping?: PingTimes;
  /** After what a Chrome is replaced between jobs. @default about 100 jobs, about an hour */
  readonly drawLimits?: (random: () => number) => LifeLimits;
}

/** For its first answer; then it has to render a page. */
const versionMs = 15_000;
const startMs = 30_000;
const farewellMs = 2_000;
/** A Chrome that is given out has just answered within it. */
const handOutMs = 3_000;
const defaultPing: PingTimes = { everyMs: 5_000, deadlineMs: 5_000 };

/** What is reckoned up of one Chrome. */
interface Life {
  readonly limits: LifeLimits;
  readonly sinceMs: number;
  jobs: number;
  crashes: number;
}

interface Running {
  readonly attempt: Attempt;
  /** Epoch ms. */
  readonly startedAtMs: number;
  /** Chrome has gone under it. */
  died: ProcessEnd | null;
  readonly onDeath: (end: ProcessEnd) => void;
  page: JobPage | null;
  memory: MemoryWatch | null;
  grace: { cancel(): void } | null;
  note: string | null;
}

export class BrowserLane implements Lane {
  readonly kind = 'browser';
  readonly number: number;
  readonly #options: BrowserLaneOptions;
  readonly #supervisor: LaneSupervisor<ChromeProcess>;
  #isStopping = false;
  #running: Running | null = null;
  #jobsDone = 0;
  #life: Life | null = null;
  /** Why the present Chrome is replaced although it is well; null: it is not. */
  #replacing: string | null = null;
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
      sayEnd: (reason) => `Chrome exited (${reason})`,
      onWell: (chrome) => this.#chromeIsWell(chrome),
      onEnd: (end) => this.#chromeEnded(end),
      onChange: () => this.#tellChange(),
    });
  }

  get state(): LaneState {
    const { state } = this.#supervisor;
    if (this.#isStopping) return state === 'stopped' ? 'stopped' : 'stopping';
    if (state !== 'well') return state;
    if (this.#running !== null) return 'busy';
    // Its end is known, and a new one is on its way.
    return this.#supervisor.child?.connection.endReason === null ? 'idle' : 'starting';
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
    const running: Running = {
      attempt,
      startedAtMs: Date.now(),
      died: null,
      onDeath,
      page: null,
      memory: null,
      grace: null,
      note: null,
    };
    this.#running = running;
    this.#options.ports.onChange();
    try {
      return await this.#runIn(chrome, running, death);
    } finally {
      running.grace?.cancel();
      this.#running = null;
      this.#jobsDone += 1;
      this.#replaceWhenDue(chrome);
      this.#options.ports.onChange();
    }
  }

  abort(attempt: Attempt): void {
    const running = this.#running;
    const { child: chrome } = this.#supervisor;
    if (running === null || running.attempt !== attempt || running.grace !== null || chrome === null) return;
    // By its signal first: a handler that heeds it at once still has its page to end with.
    const { killGraceMs } = this.#options.ports;
    const stop = setLongTimeout(() => {
      if (running.page !== null) void stopPage(chrome, running.page);
    }, killGraceMs / 2);
    const kill = setLongTimeout(() => chrome.kill('had a handler that went on past its end'), killGraceMs);
    running.grace = {
      cancel: () => {
        stop.cancel();
        kill.cancel();
      },
    };
  }

  async stop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#isStopping = true;
    const { child } = this.#supervisor;
    if (this.#running === null) child?.connection.browser.send('Browser.close').catch(() => undefined);
    else child?.kill('the worker stops');
    this.#options.ports.onChange();
    await this.#supervisor.stop(Math.min(deadlineMs, farewellMs));
    await this.#options.onStopped?.();
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
      rssBytes: running?.memory?.rssBytes ?? null,
      note: running?.note ?? note,
    };
  }

  async #spawn(): Promise<ChromeProcess> {
    const chrome = await this.#options.spawn();
    smokeTest(chrome, versionMs)
      .then(() => this.#supervisor.ready())
      .catch((error: unknown) => chrome.kill(`did not start well: ${(error as Error).message}`));
    return chrome;
  }

  #chromeIsWell(chrome: ChromeProcess): void {
    const { drawLimits = drawLifeLimits, ports } = this.#options;
    const limits = drawLimits(ports.random);
    this.#life = { limits, sinceMs: monotonicMs(), jobs: 0, crashes: 0 };
    this.#replacing = null;
    pingChrome(chrome, this.#options.ping ?? defaultPing);
  }

  async #runIn(chrome: ChromeProcess, running: Running, death: Promise<ProcessEnd>): Promise<LaneEnding> {
    const page = await this.#openPage(chrome, running.attempt);
    if (page === null) return this.#refusal('could not open a page');
    running.page = page;
    const memory = new MemoryWatch(chrome, { onEnded: (what) => this.#note(running, what) });
    running.memory = memory;
    const guard = new PageGuard(chrome, page, {
      onCrash: () => {
        if (this.#life !== null) this.#life.crashes += 1;
      },
      onNote: (what) => this.#note(running, what),
    });
    const settlement = await this.#untilOver(running, death);
    running.grace?.cancel();
    guard.end();
    const usage = memory.end();
    await cleanUp(chrome, page, { name: `lane ${this.number}`, logger: this.#options.ports.logger });
    // Its pipe may close before its end is known.
    const end = running.died ?? (chrome.connection.endReason === null ? null : await chrome.ended);
    if (end !== null && (settlement === 'over' || settlement?.kind !== 'completed'))
      return { kind: 'died', ...end, usage };
    return { kind: 'settled', settlement: settlement === 'over' ? null : settlement, usage };
  }

  /** Null: this Chrome is not well, and is replaced. */
  async #openPage(chrome: ChromeProcess, { signal }: Attempt): Promise<JobPage | null> {
    const { connection } = chrome;
    try {
      await connection.browser.send('Browser.getVersion', undefined, { deadlineMs: handOutMs });
      return await openJobPage(connection, { signal, hasPuppeteer: true, guard: this.#options.guard });
    } catch (error) {
      // Called off while it was opened, which says nothing of this Chrome.
      if (signal.aborted && (await disposeAll(chrome))) return null;
      chrome.kill(`could not open a page: ${(error as Error).message}`);
      return null;
    }
  }

  /** Until the handler has ended, or has gone on for the grace after its Chrome died. */
  #untilOver(running: Running, death: Promise<ProcessEnd>): Promise<Settlement | null | 'over'> {
    const { ports } = this.#options;
    const added = running.page?.members as unknown as LaneContext;
    const over = death.then(
      () => new Promise<'over'>((resolve) => setLongTimeout(() => resolve('over'), ports.killGraceMs)),
    );
    return Promise.race([ports.run(running.attempt, added), over]);
  }

  #note(running: Running, what: string): void {
    if (running.note === what) return;
    running.note = what;
    const { id, name } = running.attempt.job;
    this.#options.ports.logger.warn(`lane ${this.number}: ${what}`, { job: id, name });
  }

  #replaceWhenDue(chrome: ChromeProcess): void {
    const life = this.#life;
    if (life === null || this.#isStopping || chrome.connection.endReason !== null) return;
    life.jobs += 1;
    const why = whyRestart({ ...life, ageMs: monotonicMs() - life.sinceMs }, life.limits);
    if (why === null) return;
    this.#replacing = why;
    chrome.kill(`${why}, and is replaced by a new one`);
  }

  /** Whether it was under a job, or meant. */
  #chromeEnded(end: ProcessEnd): boolean {
    const running = this.#running;
    if (running === null) return this.#replacing !== null;
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
