import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { Hub } from '../../../src/hub/hub.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { Duties } from '../../../src/maintenance/duties.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { grown, openResources } from '../../support/resources.js';
import { waitFor } from '../../support/wait-for.js';

/** Ten at a time, so often: what leaks once a cycle shows tenfold in each round. */
const cycles: Readonly<Record<Engine, Readonly<Record<Kind, number>>>> = {
  memory: { storage: 50, client: 50, duties: 50, worker: 50, hub: 50 },
  sqlite: { storage: 50, client: 20, duties: 20, worker: 3, hub: 2 },
  postgres: { storage: 5, client: 5, duties: 3, worker: 2, hub: 1 },
  mysql: { storage: 5, client: 5, duties: 3, worker: 2, hub: 1 },
};
type Kind = 'storage' | 'client' | 'duties' | 'worker' | 'hub';
/** What goes round here, by the class that starts and stops. */
const services: Readonly<Record<string, Kind>> = { Duties: 'duties', Worker: 'worker', Hub: 'hub' };
const atOnce = 10;
/**
 * Timers of the runner itself, and of what is just being waited for. And SQLite parks the descriptor of a closed connection
 * for the next one while another connection of the process has a lock on the file; a connection left open shows by its -wal.
 */
const notOurs = /^handle (?:Timeout|Immediate)$|^file .*\/queue\.db$/;

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine) || !existsSync('/proc/self/fd'))(
    `[${engine}] starting and stopping`,
    () => {
      const work = defineJob('work', { run: () => 1 });
      const kinds: Record<Kind, (address: string) => Promise<void>> = {
        storage: async (address: string): Promise<void> => {
          const storage = await createStorage(address);
          await storage.open();
          const watch = await storage.watch(() => undefined);
          await storage.stats();
          await watch[Symbol.asyncDispose]();
          await storage.close();
        },
        client: async (address: string): Promise<void> => {
          await using millrace = new Millrace({ database: address, jobs: [work] });
          const handle = await millrace.dispatch(work, {}, { queue: 'nobody' });
          await handle.cancel();
          await handle.result({ timeout: '30s' }).catch(() => undefined);
        },
        duties: async (address: string): Promise<void> => {
          const storage = await createStorage(address);
          await storage.open();
          const duties = new Duties({
            ...{ storage, holder: randomBytes(8).toString('hex'), logger: silentLogger, leaseMs: 45_000 },
            ...{ retentionMs: 1e9, logRetentionMs: 1e9, staleReapMs: 300_000, reapIntervalMs: 60_000 },
          });
          await duties.start();
          await duties.stop();
          await duties.start();
          await duties.stop();
          await storage.close();
        },
        worker: async (address: string): Promise<void> => {
          await using millrace = new Millrace({ database: address, jobs: [work], workerSleep: '100ms' });
          await using worker = millrace.worker();
          await worker.start();
          const handle = await millrace.dispatch(work, {});
          expect(await handle.result({ timeout: '30s' })).toBe(1);
          await worker.stop();
          await worker.start();
        },
        hub: async (address: string): Promise<void> => {
          await using client = new Millrace({ database: address, jobs: [work] });
          await using hub = new Hub({ client, port: 0, logger: silentLogger });
          await hub.start();
          const headers = { connection: 'close' };
          const response = await fetch(`${hub.url}/healthz`, {
            headers,
            signal: AbortSignal.timeout(30_000),
          });
          expect(response.status).toBe(200);
          await response.arrayBuffer();
          await hub.stop();
          await hub.start();
        },
      };

      test.each(Object.keys(kinds) as (keyof typeof kinds)[])(
        'a %s again and again leaves nothing open',
        {
          timeout: 60_000,
        },
        async (kind) => {
          await using database = await emptyDatabase(engine);
          await using first = new Millrace({ database: database.address, migrate: 'auto' });
          await first.open();
          const round = () =>
            Promise.all(Array.from({ length: atOnce }, () => kinds[kind](database.address)));
          // What is loaded and opened once for all.
          await round();
          const before = await settled();
          for (let n = 0; n < cycles[engine][kind]; n += 1) await round();
          await waitFor(() => grown(before, notOurs).length === 0, {
            describe: () => `nothing more to be open than before, got ${grown(before, notOurs).join('; ')}`,
            deadlineMs: 5_000,
          });
          // Timers are compared by themselves: those of the waiting above come and go.
          await waitFor(() => timers() <= (before.get('handle Timeout') ?? 0) + 1, {
            describe: () =>
              `no more timers than before, got ${timers()}, had ${before.get('handle Timeout')}`,
            deadlineMs: 5_000,
          });
        },
      );
    },
  );
}

test('everything that starts and stops goes round here', () => {
  const source = fileURLToPath(new URL('../../../src/', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [
      ...readFileSync(`${source}${file}`, 'utf8').matchAll(/class (\w+)[^{]* extends Service\b/g),
    ]);
  expect(found.map((match) => match[1]).sort()).toEqual(Object.keys(services).sort());
});

function timers(): number {
  return openResources().get('handle Timeout') ?? 0;
}

/** Sockets and threads take a moment to go. */
async function settled(): Promise<Map<string, number>> {
  let last = openResources();
  await waitFor(
    () => {
      const now = openResources();
      const isSame = [...now].every(([kind, count]) => count >= (last.get(kind) ?? 0));
      last = now;
      return isSame;
    },
    { describe: 'what is open to become less no more', intervalMs: 100 },
  );
  return last;
}
