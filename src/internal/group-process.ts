/**
 * A child process that leads a session and process group of its own, and is ended by killing that whole group: what it had
 * started goes with it.
 *
 * Its pipes: 0 nothing, 1 the parent's own or read away, 2 read for the tail and passed on, from 3 on the caller's, both ways.
 *
 * `ended` resolves once the process is reaped and all it had written is read, and in any case within a bounded time:
 * something it started may have left the group and hold its pipes, and a process that hangs in the kernel outlasts a kill.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { formatDuration } from './duration.js';
import { setLongTimeout } from './long-timeout.js';
import { StderrTail } from './stderr-tail.js';

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** In words, for people: `exited with code 134`, `used 530 MB, more than its 512 MB`. */
  readonly reason: string;
  /** The end of its stderr: printable, at most 2 KB. */
  readonly tail: string;
}

export interface GroupProcessOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** `inherit`: it writes to the stdout of this process; `ignore`: to nowhere. */
  readonly stdout: 'inherit' | 'ignore';
  /** Pipes from number 3 on. */
  readonly pipes: number;
  /** What it writes to stderr, as it comes. */
  readonly onStderr: (chunk: Buffer) => void;
  /** How long it may take to be gone once it was killed. */
  readonly reapMs: number;
  /** What the tail tells beyond an exit code: `ran out of heap`; null: nothing. */
  readonly explain?: (tail: StderrTail) => string | null;
}

/** For what was written before the end: all of it is in the pipes already. */
const drainMs = 500;

export class GroupProcess {
  readonly ended: Promise<ProcessEnd>;
  /** From number 3 on. */
  readonly pipes: readonly Duplex[];
  readonly #options: GroupProcessOptions;
  readonly #process: ChildProcess;
  readonly #tail = new StderrTail();
  #killReason: string | null = null;
  #spawnError: Error | null = null;
  #hasExited = false;
  #onUnreapable: (() => void) | null = null;

  constructor(options: GroupProcessOptions) {
    const { file, args, env, stdout, pipes, onStderr } = options;
    this.#options = options;
    this.#process = spawn(file, args, {
      stdio: ['ignore', stdout, 'pipe', ...Array<'pipe'>(pipes).fill('pipe')],
      detached: true,
      env,
      windowsHide: true,
    });
    const [, , stderr, ...rest] = this.#process.stdio as unknown as [null, null, ...Duplex[]];
    this.pipes = rest;
    this.ended = this.#awaitEnd();
    this.#process.on('error', (error) => {
      this.#spawnError = error;
    });
    stderr?.on('data', (chunk: Buffer) => {
      this.#tail.add(chunk);
      onStderr(chunk);
    });
    for (const stream of [stderr, ...rest]) {
      // A pipe to a process that is going: its end is what tells.
      stream?.on('error', () => undefined);
    }
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /** Kills its whole group at once. The first reason is the one that is told. */
  kill(reason: string): void {
    if (this.#hasExited || this.#killReason !== null) return;
    this.#killReason = reason;
    this.#killGroup();
    setLongTimeout(() => this.#onUnreapable?.(), this.#options.reapMs, { unref: true });
  }

  async #awaitEnd(): Promise<ProcessEnd> {
    const [exitCode, signal] = await this.#exit();
    this.#onUnreapable = null;
    if (!this.#hasExited) {
      const within = formatDuration(this.#options.reapMs);
      const reason = `did not end within ${within} after it was killed (${this.#killReason})`;
      return { exitCode, signal, reason, tail: this.#tail.text() };
    }
    // What it had started and left behind in its group.
    this.#killGroup();
    await this.#drained();
    return { exitCode, signal, reason: this.#reason(exitCode, signal), tail: this.#tail.text() };
  }

  #exit(): Promise<[number | null, NodeJS.Signals | null]> {
    return new Promise((resolve) => {
      // It hangs in the kernel, where no signal reaches it: who waits for it must not.
      this.#onUnreapable = () => resolve([null, null]);
      this.#process.once('exit', (code, name) => {
        this.#hasExited = true;
        resolve([code, name]);
      });
      // Without a process there is no exit.
      this.#process.once('error', () => {
        if (this.pid !== null) return;
        this.#hasExited = true;
        resolve([null, null]);
      });
    });
  }

  #drained(): Promise<void> {
    if (this.pid === null) return Promise.resolve();
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainMs);
      this.#process.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    }).then(() => {
      for (const stream of this.#process.stdio) stream?.destroy();
    });
  }

  #killGroup(): void {
    const { pid } = this;
    if (pid === null) return;
    try {
      process.kill(-pid, constants.signals.SIGKILL);
    } catch {
      // Nobody of the group is left.
    }
  }

  #reason(exitCode: number | null, signal: string | null): string {
    if (this.#killReason !== null) return this.#killReason;
    if (this.#spawnError !== null && this.pid === null)
      return `could not be started: ${this.#spawnError.message}`;
    const ending = signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
    const more = this.#options.explain?.(this.#tail) ?? null;
    return more === null ? ending : `${more} (${ending})`;
  }
}
