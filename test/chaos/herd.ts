import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Random } from '../model/random.js';
import type { HistoryEvent } from '../support/history.js';
import { waitFor } from '../support/wait-for.js';

const program = fileURLToPath(new URL('./chaos-child.mjs', import.meta.url));

export interface HerdOptions {
  readonly url: string;
  /** Each process writes into a file of its own in here: a line that a kill has cut short must not spoil another's. */
  readonly folder: string;
  readonly client: Readonly<Record<string, unknown>>;
  readonly worker: Readonly<Record<string, unknown>>;
}

interface Member {
  readonly process: ChildProcess;
  readonly record: string;
  readonly killedAt: { ms: number | null };
  output: string;
}

/** Worker processes that come and go. */
export class Herd implements AsyncDisposable {
  readonly #options: HerdOptions;
  readonly #members: Member[] = [];

  constructor(options: HerdOptions) {
    this.#options = options;
  }

  spawn(): void {
    const { folder, ...options } = this.#options;
    const record = join(folder, `worker-${this.#members.length}.jsonl`);
    const child = spawn(process.execPath, [program, JSON.stringify({ ...options, record })], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const member: Member = { process: child, record, killedAt: { ms: null }, output: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (data: Buffer) => {
        member.output += data.toString();
      });
    }
    this.#members.push(member);
  }

  async oneReady(): Promise<void> {
    await waitFor(
      () => this.#members.some(({ output }) => output.includes('ready\n')) || this.#fallen().length > 0,
      {
        describe: 'a worker process to run',
        deadlineMs: 20_000,
      },
    );
    this.#refuseFallen();
  }

  kill(random: Random): void {
    this.#refuseFallen();
    const member = random.pick(this.#living());
    member.process.kill('SIGKILL');
    member.killedAt.ms = Date.now();
  }

  /** Lets those who live end in good order. */
  async stop(): Promise<void> {
    const living = this.#living();
    // One that has only just been born knows no signal yet.
    await waitFor(() => living.every((member) => member.output.includes('ready\n') || hasEnded(member)), {
      describe: 'the workers to run before they are stopped',
      deadlineMs: 30_000,
    });
    for (const { process } of living) process.kill('SIGTERM');
    await waitFor(() => this.#members.every(hasEnded), {
      describe: 'the workers to stop',
      deadlineMs: 30_000,
    });
    this.#refuseFallen();
  }

  /** What all of them wrote down, and when each was killed. */
  events(): HistoryEvent[] {
    return this.#members.flatMap((member) => {
      const { ms } = member.killedAt;
      const killed: HistoryEvent = { at: ms ?? 0, kind: 'killed', worker: `pid ${member.process.pid}` };
      return [...eventsIn(member.record), ...(ms === null ? [] : [killed])];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#living()) process.kill('SIGKILL');
    await waitFor(() => this.#members.every(hasEnded), { describe: 'the worker processes to be gone' });
  }

  #living(): Member[] {
    return this.#members.filter((member) => member.killedAt.ms === null && !hasEnded(member));
  }

  /** Ended although nobody killed it. */
  #fallen(): Member[] {
    return this.#members.filter(
      (member) => member.killedAt.ms === null && hasEnded(member) && member.process.exitCode !== 0,
    );
  }

  #refuseFallen(): void {
    const [fallen] = this.#fallen();
    if (fallen !== undefined) throw new Error(`a worker process ended by itself:\n${fallen.output}`);
  }
}

function hasEnded({ process }: Member): boolean {
  return process.exitCode !== null || process.signalCode !== null;
}

/** The last line may have been cut short by the kill. */
function eventsIn(record: string): HistoryEvent[] {
  if (!existsSync(record)) return [];
  const lines = readFileSync(record, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as HistoryEvent);
}
