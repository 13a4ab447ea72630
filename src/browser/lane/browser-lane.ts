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

import {
  type LifeLimits,
  type MemoryLimits,
  type PageTimes,
  type PingTimes,
  pingTimes,
} from '../../core/browser-lane-rules.js';
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
import { type EndCause, LaneSupervisor } from '../../worker/lanes/lane-supervisor.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { type JobPage, openJobPage } from '../context/job-page.js';
import type { GuardProxy } from '../net/guard-proxy.js';
import { ChromeLife, type Replacement } from './chrome-life.js';
import { pingChrome } from './chrome-ping.js';
import { cleanUp, disposeAll, killPages, stopPage } from './clean-up.js';
import type { DiskUser } from './disk-watch.js';
import type { StepPorts } from './lane-step.js';
import { MemoryWatch } from './memory-watch.js';
import { PageGuard } from './page-guard.js';
import { smokeTest } from './smoke-test.js';

export interface BrowserLaneOptions {
  readonly number: number;
  readonly ports: LanePorts;
  /** A Chrome in a folder that nothing else uses; rejects where there is none to be had. */
  readonly spawn: () => Promise<ChromeProcess>;
  /** Why there is none, as was known before; null: nothing is known. */
  readonly missing?: string | null;
  /** What all its traffic goes through. */
  readonly guard: GuardProxy;
  /** The lane has stopped: what it wrote may go. */
  readonly onStopped?: () => Promise<void>;
  /** @default every 5 s, 5 s for an answer */
  readonly ping?: PingTimes;
  /** @default see `core/browser-lane-rules.ts`, as the next */
  readonly pageTimes?: PageTimes;
  readonly memoryLimits?: MemoryLimits;
  /** After what a Chrome is replaced between jobs. @default about 100 jobs, about an hour */
  readonly drawLimits?: (random: () => number) => LifeLimits;
}

/** For its first answer; then it has to render a page. */
const versionMs = 15_000;
const startMs = 30_000;
const farewellMs = 2_000;
/** A Chrome that is given out has just answered within it. */
const handOutMs = 3_000;

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
  /** What went wrong with its page; null: nothing. */
  trouble: string | null;
  hasCrashed: boolean;
}

export class BrowserLane implements Lane, DiskUser {
  readonly kind = 'browser';
  readonly number: number;
  readonly #options: BrowserLaneOptions;
  readonly #supervisor: LaneSupervisor<ChromeProcess>;
  #isStopping = false;
  #running: Running | null = null;
  #jobsDone = 0;
  #life: ChromeLife | null = null;
  /** Why the present Chrome is replaced although it answers; null: it is not. */
  #replacing: Replacement | null = null;
  /** Why it takes no jobs although it is well; null: it takes them. */
  #shutReason: string | null = null;
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
      knownFailure: options.missing ?? null,
      firstDeed: 'answered and rendered a page',
      spawn: () => this.#spawn(),
      sayEnd: (reason) => `Chrome exited (${reason})`,
      onWell: (chrome) => this.#chromeIsWell(chrome),
      onEnd: (end) => this.#chromeEnded(end),
      onChange: () => this.#tellChange(),
      onStep: (step, reason) => this.#tellStep({ step, reason, helped: true, tookMs: null }),
    });
  }

  get state(): LaneState {
    const { state } = this.#supervisor;
    if (this.#isStopping) return state === 'stopped' ? 'stopped' : 'stopping';
    if (state !== 'well') return state;
    if (this.#running !== null) return 'busy';
    // Its end is known, and a new one is on its way.
    if (this.#supervisor.child?.connection.endReason !== null) return 'starting';
    return this.#shutReason === null ? 'idle' : 'shut';
  }

  get folder(): string | null {
    return this.#supervisor.child?.folder ?? null;
  }

  shut(reason: string | null): void {
    if (this.#shutReason === reason) return;
    this.#shutReason = reason;
    this.#options.ports.onChange();
  }

  renew(why: string): void {
    const { child } = this.#supervisor;
    const { state } = this;
    if (child === null || (state !== 'idle' && state !== 'shut')) return;
    this.#replace(child, { why, isPlanned: true });
    this.#options.ports.onChange();
  }

  get wasWell(): boolean {
    return this.#supervisor.wasWell;
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
      trouble: null,
      hasCrashed: false,
    };
    this.#running = running;
    this.#options.ports.onChange();
    try {
      return await this.#runIn(chrome, running, death);
    } finally {
      running.grace?.cancel();
      const replacement = (await this.#life?.jobEnded(running.memory?.rssBytes ?? null)) ?? null;
      this.#running = null;
      this.#jobsDone += 1;
      if (replacement !== null) this.#replace(chrome, replacement);
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
      if (running.page !== null) void stopPage(chrome, running.page, this.#stepPorts);
      running.trouble ??= 'its job was called off';
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
      note: running?.note ?? note ?? this.#shutReason,
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
    const { drawLimits, ports, ping = pingTimes } = this.#options;
    const { random } = ports;
    this.#life = new ChromeLife(chrome, { random, ...(drawLimits === undefined ? {} : { drawLimits }) });
    this.#replacing = null;
    pingChrome(chrome, ping);
  }

  async #runIn(chrome: ChromeProcess, running: Running, death: Promise<ProcessEnd>): Promise<LaneEnding> {
    const page = await this.#openPage(chrome, running.attempt);
    if (page === null) return this.#refusal('could not open a page');
    running.page = page;
    const { memory, guard } = this.#watch(chrome, running, page);
    const settlement = await this.#untilOver(running, death);
    running.grace?.cancel();
    guard.end();
    const usage = memory.end();
    await cleanUp(chrome, page, { ...this.#stepPorts, trouble: running.trouble });
    // Its pipe may close before its end is known.
    const end = running.died ?? (chrome.connection.endReason === null ? null : await chrome.ended);
    if (end !== null && (settlement === 'over' || settlement?.kind !== 'completed'))
      return { kind: 'died', ...end, usage };
    return { kind: 'settled', settlement: settlement === 'over' ? null : settlement, usage };
  }

  #watch(
    chrome: ChromeProcess,
    running: Running,
    page: JobPage,
  ): { readonly memory: MemoryWatch; readonly guard: PageGuard } {
    const { memoryLimits: limits, pageTimes: times } = this.#options;
    const endPages = async (why: string): Promise<void> => {
      this.#note(running, why);
      await killPages(chrome, why, this.#stepPorts);
    };
    const memory = new MemoryWatch(chrome, { endPages, ...(limits === undefined ? {} : { limits }) });
    running.memory = memory;
    const guard = new PageGuard(chrome, page, {
      onCrash: () => {
        running.trouble ??= 'its page has crashed';
        // What is counted is jobs whose page crashed.
        if (!running.hasCrashed && this.#life !== null) this.#life.crashes += 1;
        running.hasCrashed = true;
      },
      onNote: (what) => this.#note(running, what),
      endPages,
      ...(times === undefined ? {} : { times }),
    });
    return { memory, guard };
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
    running.trouble ??= what;
    const { id, name } = running.attempt.job;
    this.#options.ports.logger.warn(`lane ${this.number}: ${what}`, { job: id, name });
  }

  #replace(chrome: ChromeProcess, replacement: Replacement): void {
    if (this.#isStopping || chrome.connection.endReason !== null) return;
    this.#replacing = replacement;
    chrome.kill(`${replacement.why}, and is replaced by a new one`);
  }

  #chromeEnded(end: ProcessEnd): EndCause {
    const running = this.#running;
    const replacing = this.#replacing;
    if (running !== null) {
      running.died = end;
      running.onDeath(end);
      return 'job';
    }
    if (replacing === null) return 'itself';
    return replacing.isPlanned ? 'planned' : 'job';
  }

  get #stepPorts(): StepPorts {
    const { logger } = this.#options.ports;
    return { name: `lane ${this.number}`, logger, onStep: (taken) => this.#tellStep(taken) };
  }

  #tellStep(taken: Parameters<StepPorts['onStep']>[0]): void {
    const { kind, number: lane } = this;
    this.#options.ports.onStep({ kind, lane, jobId: this.#running?.attempt.job.id ?? null, ...taken });
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
