/**
 * The parent's hold on one child of a process lane: spawned as the leader of a session and process group of its own, talked
 * to in frames over a pipe, ended by killing that whole group.
 *
 * Its pipes: 0 nothing, 1 the worker's own, 2 read for the tail and passed on, 3 messages, 4 the guard's. The last one is
 * never written to: that it ends is how the guard thread in the child learns that its parent is gone (see guard-thread.ts).
 *
 * `ended` resolves once the process is reaped and all it had written is read, and in any case within a bounded time:
 * something it started may have left the group and hold its pipes, and a process that hangs in the kernel outlasts a kill.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { formatDuration } from '../../../internal/duration.js';
import { setLongTimeout } from '../../../internal/long-timeout.js';
import { encodeFrame, FrameReader } from './frames.js';
import type { DownMessage } from './messages.js';
import { StderrTail } from './stderr-tail.js';

export interface ChildEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** In words, for people: `exited with code 134`, `used 530 MB, more than its 512 MB`. */
  readonly reason: string;
  /** The end of its stderr: printable, at most 2 KB. */
  readonly tail: string;
}

export interface ChildOptions {
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly onMessage: (message: unknown) => void;
  /** What it writes to stderr, as it comes. */
  readonly onStderr: (chunk: Buffer) => void;
  /** How long it may take to be gone once it was killed. */
  readonly reapMs: number;
}

/** For what was written before the end: all of it is in the pipes already. */
const drainMs = 500;

export class LaneChildProcess {
  readonly ended: Promise<ChildEnd>;
  readonly #process: ChildProcess;
  readonly #pipe: Duplex;
  readonly #tail = new StderrTail();
  #killReason: string | null = null;
  #spawnError: Error | null = null;
  readonly #reapMs: number;
  #hasExited = false;
  #onUnreapable: (() => void) | null = null;

  constructor({ file, execArgv, env, onMessage, onStderr, reapMs }: ChildOptions) {
    this.#reapMs = reapMs;
    this.#process = spawn(process.execPath, [...execArgv, file], {
      stdio: ['ignore', 'inherit', 'pipe', 'pipe', 'pipe'],
      detached: true,
      env,
      windowsHide: true,
    });
    const [, , stderr, pipe, guard] = this.#process.stdio as unknown as [null, null, Duplex, Duplex, Duplex];
    this.#pipe = pipe;
    this.ended = this.#awaitEnd();
    this.#process.on('error', (error) => {
      this.#spawnError = error;
    });
    stderr.on('data', (chunk: Buffer) => {
      this.#tail.add(chunk);
      onStderr(chunk);
    });
    this.#read(onMessage);
    guard.resume();
    for (const stream of [stderr, pipe, guard]) {
      // A pipe to a process that is going: its end is what tells.
      stream.on('error', () => undefined);
    }
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** @throws MillraceError `payload-too-large`. To a child that is going it says nothing. */
  send(message: DownMessage): void {
    const frame = encodeFrame(message);
    if (this.#pipe.writable) this.#pipe.write(frame);
  }

  /** Kills its whole group at once. The first reason is the one that is told. */
  kill(reason: string): void {
    if (this.#hasExited || this.#killReason !== null) return;
    this.#killReason = reason;
    this.#killGroup();
    setLongTimeout(() => this.#onUnreapable?.(), this.#reapMs, { unref: true });
  }

  #read(onMessage: (message: unknown) => void): void {
    const reader = new FrameReader(onMessage);
    let isBroken = false;
    this.#pipe.on('data', (chunk: Buffer) => {
      if (isBroken) return;
      try {
        reader.push(chunk);
      } catch (error) {
        isBroken = true;
        this.kill(`sent what can't be read: ${(error as Error).message}`);
      }
    });
  }

  async #awaitEnd(): Promise<ChildEnd> {
    const [exitCode, signal] = await this.#exit();
    this.#onUnreapable = null;
    if (!this.#hasExited) {
      const reason = `did not end within ${formatDuration(this.#reapMs)} after it was killed (${this.#killReason})`;
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
    if (this.#tail.includes('heap out of memory')) return `ran out of heap (${ending(exitCode, signal)})`;
    return ending(exitCode, signal);
  }
}

const ending = (exitCode: number | null, signal: string | null): string =>
  signal === null ? `exited with code ${exitCode}` : `was ended by ${signal}`;
