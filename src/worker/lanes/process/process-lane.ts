/**
 * A lane that is a child process: it runs one job at a time, for as many jobs as come, in the module of the worker. The
 * child is started warm: it is idle once its module is loaded, and takes work only then.
 *
 *   idle ──run──▶ handed over ──taken up──▶ running ──ended──▶ idle
 *                    │ deadline                │ abort, then the grace · above its memory · dies
 *                    ▼                         ▼
 *                 killed: the job is refused   killed: the job is told as died   (both: a new child, see lane-supervisor.ts)
 *
 * Every step has its deadline: the load of the module, the taking up of a job, the answer to an abort (the grace), the
 * farewell, the end after a kill. What misses it is killed with its whole group, and the reason says which one it was.
 *
 * The parent watches memory from outside: one whose loop is blocked watches late. What a job started outside the group of
 * its child (a session of its own) is not ended with it.
 */
import { formatDuration } from '../../../internal/duration.js';
import type { ProcessEnd } from '../../../internal/group-process.js';
import { setLongTimeout } from '../../../internal/long-timeout.js';
import type { Settlement } from '../../../storage/settlement.js';
import type { Attempt } from '../../attempt.js';
import type { Lane, LaneEnding, LanePorts, LaneSnapshot, LaneState } from '../lane.js';
import { type EndCause, LaneSupervisor } from '../lane-supervisor.js';
import { answerCall } from './answer-call.js';
import { checkUpMessage } from './check-message.js';
import { LaneChildProcess } from './child-process.js';
import type { LaneFolders } from './lane-folders.js';
import type { DownMessage, HelloMessage, JobMessage, LeaselessSettlement } from './messages.js';
import { UsageWatch } from './usage-watch.js';

export interface ProcessLaneOptions {
  readonly number: number;
  readonly ports: LanePorts;
  /** The built program of the child. */
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly folders: LaneFolders;
  readonly hello: Omit<HelloMessage, 'type' | 'lane' | 'workerId' | 'maxPayloadBytes'>;
  readonly maxMemoryBytes: number;
  /** Takes what the child writes to stderr. */
  readonly onStderr: (chunk: Buffer) => void;
  readonly deadlines?: Partial<LaneDeadlines>;
}

export interface LaneDeadlines {
  /** From the spawn until the module is loaded. */
  readonly startMs: number;
  /** From handing over a job until the child has taken it up. */
  readonly takeUpMs: number;
  readonly farewellMs: number;
  /** From a kill until the process is gone. */
  readonly reapMs: number;
}

/** Generous, since a machine may be busy with the start of everything else: none is a rhythm, each only ends a hang. */
const defaultDeadlines: LaneDeadlines = {
  startMs: 60_000,
  takeUpMs: 10_000,
  farewellMs: 2_000,
  reapMs: 10_000,
};

interface Running {
  readonly attempt: Attempt;
  readonly child: LaneChildProcess;
  readonly run: number;
  /** Epoch ms. */
  readonly startedAtMs: number;
  readonly resolve: (ending: LaneEnding) => void;
  takeUp: { cancel(): void };
  grace: { cancel(): void } | null;
  isTakenUp: boolean;
}

export class ProcessLane implements Lane {
  readonly kind = 'process';
  readonly number: number;
  readonly #options: ProcessLaneOptions;
  readonly #deadlines: LaneDeadlines;
  readonly #supervisor: LaneSupervisor<LaneChildProcess>;
  readonly #watch: UsageWatch;
  #isStopping = false;
  #running: Running | null = null;
  #runs = 0;
  #jobsDone = 0;
  #misfits = 0;
  #onSettled: (() => void)[] = [];

  constructor(options: ProcessLaneOptions) {
    const { number, ports, maxMemoryBytes } = options;
    this.number = number;
    this.#options = options;
    this.#deadlines = { ...defaultDeadlines, ...options.deadlines };
    this.#watch = new UsageWatch(maxMemoryBytes, (reason) => this.#supervisor.child?.kill(reason));
    this.#supervisor = new LaneSupervisor<LaneChildProcess>({
      name: `lane ${number}`,
      logger: ports.logger,
      random: ports.random,
      startMs: this.#deadlines.startMs,
      firstDeed: 'loaded its module',
      spawn: () => this.#spawn(),
      onWell: ({ pid }) => {
        if (pid !== null) this.#watch.open(pid);
      },
      onEnd: (end) => this.#childEnded(end),
      onChange: () => this.#tellChange(),
      onStep: (step, reason) =>
        ports.onStep({
          kind: 'process',
          lane: number,
          step,
          reason,
          helped: true,
          jobId: null,
          tookMs: null,
        }),
    });
  }

  get state(): LaneState {
    const { state } = this.#supervisor;
    if (this.#isStopping) return state === 'stopped' ? 'stopped' : 'stopping';
    if (state === 'well') return this.#running === null ? 'idle' : 'busy';
    return state;
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

  run(attempt: Attempt): Promise<LaneEnding> {
    const { child } = this.#supervisor;
    if (this.state !== 'idle' || child === null) return Promise.resolve(this.#refusal(`is ${this.state}`));
    const { takeUpMs } = this.#deadlines;
    return new Promise((resolve) => {
      const late = `did not take up a job within ${formatDuration(takeUpMs)}`;
      const takeUp = setLongTimeout(() => child.kill(late), takeUpMs);
      const startedAtMs = Date.now();
      const run = ++this.#runs;
      this.#running = { attempt, child, run, startedAtMs, resolve, takeUp, grace: null, isTakenUp: false };
      if (child.folder === null) void this.#findFolder(child);
      this.#watch.begin();
      this.#options.ports.onChange();
      const skewMs = Math.round(this.#options.ports.now() - startedAtMs);
      this.#send(child, {
        type: 'run',
        run,
        job: attempt.job,
        folder: child.folder?.ofJob(run) ?? null,
        skewMs,
      });
      if (attempt.abortCause !== null) this.abort(attempt);
    });
  }

  abort(attempt: Attempt): void {
    const running = this.#running;
    const { abortCause: cause } = attempt;
    if (running?.attempt !== attempt || cause === null) return;
    this.#send(running.child, { type: 'abort', run: running.run, cause });
    const { killGraceMs } = this.#options.ports;
    const late = `went on for ${formatDuration(killGraceMs)} after its signal (${cause})`;
    running.grace ??= setLongTimeout(() => running.child.kill(late), killGraceMs);
  }

  async stop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#isStopping = true;
    const { child } = this.#supervisor;
    if (this.#running === null && child !== null) this.#send(child, { type: 'bye' });
    else child?.kill('the worker stops');
    this.#options.ports.onChange();
    await this.#supervisor.stop(Math.min(deadlineMs, this.#deadlines.farewellMs));
    await this.#options.folders.leave(this.number);
  }

  snapshot(): LaneSnapshot {
    const { number, kind, state } = this;
    const { child, restarts, note } = this.#supervisor;
    return {
      number,
      kind,
      state,
      job: this.#running === null ? null : jobOf(this.#running),
      pid: child?.pid ?? null,
      restarts,
      jobsDone: this.#jobsDone,
      rssBytes: this.#watch.rssBytes,
      note,
    };
  }

  async #spawn(): Promise<LaneChildProcess> {
    const { file, execArgv, folders, onStderr, hello, ports } = this.#options;
    const { workerId, maxPayloadBytes } = ports;
    const child: LaneChildProcess = new LaneChildProcess({
      file,
      execArgv,
      env: process.env,
      folder: await folders.forChild(this.number),
      onMessage: (message) => this.#take(child, message),
      onStderr,
      reapMs: this.#deadlines.reapMs,
    });
    this.#send(child, { type: 'hello', lane: this.number, workerId, maxPayloadBytes, ...hello });
    return child;
  }

  /** For the jobs after this one. */
  async #findFolder(child: LaneChildProcess): Promise<void> {
    const folder = await this.#options.folders.forChild(this.number);
    if (folder !== null && child.folder === null) child.useFolder(folder);
  }

  #send(child: LaneChildProcess, message: DownMessage): void {
    try {
      child.send(message);
    } catch (error) {
      child.kill(`could not be told "${message.type}": ${(error as Error).message}`);
    }
  }

  #take(child: LaneChildProcess, value: unknown): void {
    const message = checkUpMessage(value);
    if (message === null) this.#noteMisfit(child);
    else if (message.type === 'ready') this.#supervisor.ready();
    else if (message.type === 'call') void this.#answer(child, message);
    else if (this.#running?.child === child && this.#running.run === message.run)
      this.#takeOfJob(this.#running, message);
  }

  #takeOfJob(running: Running, message: Exclude<JobMessage, { type: 'call' }>): void {
    const { attempt } = running;
    const { context, logger } = this.#options.ports;
    const { id, token, name } = attempt.job;
    switch (message.type) {
      case 'started':
        running.isTakenUp = true;
        running.takeUp.cancel();
        break;
      case 'line':
        attempt.hasLogged = true;
        context.log({ ...message.line, id, token });
        break;
      case 'said':
        logger[message.level](message.message, { job: id, name, lane: this.number, ...message.fields });
        break;
      case 'written':
        attempt.settledWithin = withLease(message.settlement, attempt);
        break;
      case 'ended':
        attempt.isSettled ||= message.isSettled;
        running.child.folder?.jobEnded(running.run);
        this.#end(running, {
          kind: 'settled',
          // A lease that was lost meanwhile has nothing to be settled.
          settlement:
            message.settlement === null || (attempt.abortCause === 'lease-lost' && !message.isSettled)
              ? null
              : withLease(message.settlement, attempt),
          usage: message.usage ?? this.#watch.end(),
        });
        break;
    }
  }

  async #answer(child: LaneChildProcess, message: Extract<JobMessage, { type: 'call' }>): Promise<void> {
    const attempt = this.#running?.run === message.run ? this.#running.attempt : null;
    this.#send(child, await answerCall(message.seq, message.call, { attempt, ports: this.#options.ports }));
  }

  #childEnded({ exitCode, signal, reason, tail }: ProcessEnd): EndCause {
    const running = this.#running;
    const usage = this.#watch.end();
    this.#watch.close();
    if (running === null) return 'itself';
    if (!running.isTakenUp) {
      this.#end(running, this.#refusal(reason));
      return 'itself';
    }
    this.#end(running, { kind: 'died', exitCode, signal, reason, tail, usage });
    return 'job';
  }

  #end(running: Running, ending: LaneEnding): void {
    running.takeUp.cancel();
    running.grace?.cancel();
    this.#watch.end();
    this.#running = null;
    if (ending.kind !== 'refused') this.#jobsDone += 1;
    running.resolve(ending);
    this.#options.ports.onChange();
  }

  #refusal(reason: string): LaneEnding {
    return { kind: 'refused', reason: `lane ${this.number} ${reason}` };
  }

  #noteMisfit(child: LaneChildProcess): void {
    this.#misfits += 1;
    if (this.#misfits > 1) return;
    const { logger } = this.#options.ports;
    logger.warn(`lane ${this.number}: its process sent what is no message, which is left out`, {
      pid: child.pid,
    });
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

const jobOf = ({ attempt, startedAtMs }: Running): LaneSnapshot['job'] => ({
  id: attempt.job.id,
  name: attempt.job.name,
  attempt: attempt.job.attempts + 1,
  startedAtMs,
});

/** The lease is the parent's own: what a child says of it does not count. */
const withLease = (settlement: LeaselessSettlement, { job: { id, token } }: Attempt): Settlement =>
  ({ ...settlement, id, token }) as Settlement;
