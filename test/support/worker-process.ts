import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.js';

const child = fileURLToPath(new URL('./worker-child.mjs', import.meta.url));

export interface WorkerProcessOptions {
  readonly url: string;
  /** File that the jobs write to. */
  readonly record: string;
  /** Options of its client, as JSON can tell them. */
  readonly client?: Readonly<Record<string, unknown>>;
  readonly worker?: Readonly<Record<string, unknown>>;
}

export interface RecordedEvent {
  readonly event: 'start' | 'abort' | 'end' | 'completed';
  readonly job: string;
  readonly pid: number;
  readonly at: number;
  readonly attempt?: number;
  readonly code?: string;
}

/** A worker in a process of its own, killed at the end of the test whatever happened. */
export class WorkerProcess implements AsyncDisposable {
  readonly #process: ChildProcess;
  #output = '';

  constructor(options: WorkerProcessOptions) {
    this.#process = spawn(process.execPath, [child, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (data: Buffer) => {
        this.#output += data.toString();
      });
    }
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  async ready(): Promise<this> {
    try {
      await waitFor(() => this.#output.includes('ready\n') || this.hasEnded, {
        describe: () => `the worker process to run, it said: ${this.#output}`,
        deadlineMs: 30_000,
      });
    } catch (error) {
      // Nobody has it yet who would end it.
      await this[Symbol.asyncDispose]();
      throw error;
    }
    if (this.hasEnded) throw new Error(`the worker process ended at its start:\n${this.#output}`);
    return this;
  }

  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.kill(name);
  }

  async ended(): Promise<void> {
    await waitFor(() => this.hasEnded, { describe: `process ${this.pid} to end`, deadlineMs: 40_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.hasEnded) return;
    this.#process.kill('SIGCONT');
    this.#process.kill('SIGKILL');
    await this.ended();
  }
}

/** What was recorded so far; a half-written last line is left for the next look. */
export function recorded(file: string): RecordedEvent[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as RecordedEvent);
}
