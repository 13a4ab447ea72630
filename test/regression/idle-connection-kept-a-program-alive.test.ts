import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Millrace } from '../../src/client/millrace.js';
import { emptyDatabase, engineAvailable } from '../support/engines.js';
import { waitFor } from '../support/wait-for.js';

/** A program written as the guide shows never ended on PostgreSQL and MariaDB, since its idle connections held it. */
const script = fileURLToPath(new URL('../support/dispatching-child.mjs', import.meta.url));

class Program implements AsyncDisposable {
  readonly process: ChildProcess;
  output = '';

  constructor(options: { readonly url: string; readonly worker?: boolean }) {
    this.process = spawn(process.execPath, [script, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (data: Buffer) => {
        this.output += data.toString();
      });
    }
  }

  get hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  async isDone(): Promise<void> {
    await waitFor(() => this.output.includes('done\n') || this.hasEnded, {
      describe: 'the job to be dispatched',
      deadlineMs: 30_000,
    });
    expect(this.output).toBe('done\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) this.process.kill('SIGKILL');
    await waitFor(() => this.hasEnded, { describe: 'the program to end' });
  }
}

for (const engine of ['sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}]`, () => {
    test('a program that dispatches and does not close ends by itself, its job kept', async () => {
      await using database = await emptyDatabase(engine);
      await using program = new Program({ url: database.address });
      await program.isDone();
      await waitFor(() => program.hasEnded, { describe: 'the program to end by itself', deadlineMs: 5000 });
      expect(program.process.exitCode).toBe(0);
      await using millrace = new Millrace({ database: database.address });
      expect((await millrace.jobs()).jobs).toMatchObject([{ name: 'greet', status: 'pending' }]);
    });

    test('a running worker keeps its process alive between jobs', async () => {
      await using database = await emptyDatabase(engine);
      await using program = new Program({ url: database.address, worker: true });
      await program.isDone();
      // Nothing to wait for: it is staying alive that is looked at.
      await delay(1500);
      expect(program.hasEnded).toBe(false);
      await using millrace = new Millrace({ database: database.address });
      const handle = await millrace.dispatch('greet', null);
      expect(await handle.result({ timeout: '20s' })).toBe('Hello');
    });
  });
}
