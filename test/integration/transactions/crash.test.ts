import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { mysqlKinds } from './mysql-kinds.js';
import { postgresKinds } from './postgres-kinds.js';
import { sqliteKinds } from './sqlite-kinds.js';

const child = fileURLToPath(new URL('./settle-child.mjs', import.meta.url));

interface Worker extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly hasEnded: boolean;
}

function startWorker(options: { url: string; engine: string; die?: string }): Worker {
  const process_ = spawn(process.execPath, [child, JSON.stringify(options)], { stdio: 'ignore' });
  const hasEnded = (): boolean => process_.exitCode !== null || process_.signalCode !== null;
  return {
    process: process_,
    get hasEnded() {
      return hasEnded();
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) process_.kill('SIGKILL');
      await waitFor(hasEnded, { describe: 'the worker process to end' });
    },
  };
}

for (const kind of [postgresKinds[0], mysqlKinds[0], sqliteKinds[0]]) {
  if (kind === undefined) throw new Error('each engine has kinds');
  describe.skipIf(!engineAvailable(kind.engine))(`[${kind.engine}] a process that dies in settleIn`, () => {
    for (const die of ['before the commit', 'after the commit'] as const) {
      it(`${die}, leaves both or neither`, { timeout: 60_000 }, async () => {
        await using engine = await openEngine(kind.engine);
        await using user = await kind.open(engine.address);
        await using millrace = new Millrace({ database: engine.address });
        const handle = await millrace.dispatch('move', 1);
        await using first = startWorker({ url: engine.address, engine: kind.engine, die });
        await waitFor(() => first.hasEnded, { describe: 'the first process to die', deadlineMs: 20_000 });
        const isCommitted = die === 'after the commit';
        expect(await user.notes()).toEqual(isCommitted ? ['moved'] : []);
        expect((await handle.job())?.status).toBe(isCommitted ? 'completed' : 'processing');
        await using _second = startWorker({ url: engine.address, engine: kind.engine });
        expect(await handle.result({ timeout: '40s' })).toBe('moved');
        expect(await user.notes()).toEqual(['moved']);
        // A death is counted only where the start was marked; the job itself has failed nowhere.
        expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0 });
      });
    }
  });
}
