/**
 * The supervisor's hold on one worker process: leader of a process group of its own, so that Ctrl-C on the terminal reaches
 * the supervisor alone and a kill reaches all that the worker had started. It hears of the end of its supervisor from its
 * watchdog, which looks at its parent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LastWords } from '../watchdog/self-kill.js';
import { type PoolDownMessage, type PoolPlace, type PoolUpMessage, poolEnv } from './pool-messages.js';

/** How to start a worker of this pool. */
export interface PoolCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

export interface PoolProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it left behind when it killed itself, or why it could not be started. */
  readonly reason: string | null;
}

export class PoolProcess {
  readonly ended: Promise<PoolProcessEnd>;
  readonly #process: ChildProcess;
  readonly #lastWordsFile: string;
  #isGone = false;

  constructor(command: PoolCommand, slot: number, onMessage: (message: PoolUpMessage) => void) {
    this.#lastWordsFile = join(tmpdir(), `millrace-pool-${process.pid}-${slot}.json`);
    const place: PoolPlace = { supervisor: process.pid, slot, lastWordsFile: this.#lastWordsFile };
    this.#process = spawn(process.execPath, [...process.execArgv, command.file, ...command.args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
      env: { ...command.env, [poolEnv]: JSON.stringify(place) },
    });
    this.#process.on('message', (message) => onMessage(message as PoolUpMessage));
    this.ended = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        if (this.#process.pid === undefined) resolve({ code: null, signal: null, reason: String(error) });
      });
      this.#process.once('exit', (code, signal) => {
        this.#isGone = true;
        // What it had started and left behind in its group.
        this.#signalGroup('SIGKILL');
        resolve({ code, signal, reason: this.#lastWords() });
      });
    });
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** With all that it had started. */
  kill(): void {
    if (!this.#isGone) this.#signalGroup('SIGKILL');
  }

  drain(reason: string): void {
    this.post({ type: 'drain', reason });
  }

  /** To one that is going it says nothing. */
  post(message: PoolDownMessage): void {
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Nobody of the group is left.
    }
  }

  #lastWords(): string | null {
    try {
      const { reason } = JSON.parse(readFileSync(this.#lastWordsFile, 'utf8')) as LastWords;
      rmSync(this.#lastWordsFile, { force: true });
      return reason;
    } catch {
      // As a rule there are none.
      return null;
    }
  }
}
