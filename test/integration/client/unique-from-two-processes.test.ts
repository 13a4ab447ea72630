import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const script = fileURLToPath(new URL('../../support/unique-child.mjs', import.meta.url));

for (const engine of ['sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] one unique key`, () => {
    test('dispatched 10,000 times at once from two processes makes one job', {
      timeout: 60_000,
    }, async () => {
      await using database = await emptyDatabase(engine);
      await using millrace = new Millrace({ database: database.address, migrate: 'auto' });
      await millrace.open();
      await using first = dispatcher(database.address);
      await using second = dispatcher(database.address);
      await Promise.all([first.ready(), second.ready()]);
      for (const process of [first, second]) process.go();
      const answers = await Promise.all([first.answer(), second.answer()]);
      expect(answers.map(({ made }) => made).sort()).toEqual([0, 1]);
      expect(new Set(answers.flatMap(({ ids }) => ids)).size).toBe(1);
      expect(await millrace.stats('default')).toMatchObject({ pending: 1 });
    });
  });
}

interface Answer {
  readonly made: number;
  readonly ids: readonly string[];
}

function dispatcher(url: string): {
  ready(): Promise<unknown>;
  go(): void;
  answer(): Promise<Answer>;
} & AsyncDisposable {
  const child: ChildProcess = spawn(process.execPath, [
    script,
    JSON.stringify({ url, key: 'one', count: 5_000 }),
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => {
      output += data.toString();
    });
  }
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const line = (pattern: RegExp, describe: string): Promise<string> =>
    waitFor(
      () => {
        const found = pattern.exec(output)?.[0];
        if (found === undefined && hasEnded()) throw new Error(`the process ended: ${output}`);
        return found;
      },
      { describe, deadlineMs: 50_000 },
    );
  return {
    ready: () => line(/^ready$/m, 'a dispatching process to be ready'),
    go: () => void child.stdin?.write('go\n'),
    answer: async () => JSON.parse(await line(/^\{.*\}$/m, 'all dispatches to be answered')) as Answer,
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) child.kill('SIGKILL');
      await waitFor(hasEnded, { describe: 'the process to end' });
    },
  };
}
