import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { openEngine } from '../../support/engines.js';
import { faultyStorage } from '../../support/faulty-storage.js';

const count = 100_000;
/** What one waiter may cost: its promise, its entry, its place in a read. */
const bytesEach = 3_000;

test('[memory] a hundred thousand results are awaited at once: bounded memory, a responsive loop, each told once', async () => {
  await using engine = await openEngine('memory');
  let turns = 0;
  const turnsOfReads: number[] = [];
  const counted = faultyStorage(engine.storage, ({ method }) => {
    if (method === 'endings') turnsOfReads.push(turns);
    return null;
  });
  const work = defineJob('work', { run: () => 1 });
  await using millrace = new Millrace({ database: counted.storage, jobs: [work] });
  const handles = await millrace.dispatchMany(
    Array.from({ length: count }, () => ({ job: work, input: undefined })),
  );
  const before = process.memoryUsage().heapUsed;
  const stop = new AbortController();
  const outcomes = { told: 0, aborted: 0 };
  const waits = handles.map((handle) =>
    handle.result({ timeout: '60d', signal: stop.signal }).then(
      () => {
        outcomes.told += 1;
      },
      () => {
        outcomes.aborted += 1;
      },
    ),
  );
  // Until every waiter was read.
  const reads = count / 1_000;
  const until = performance.now() + 20_000;
  for (; turnsOfReads.length < reads && performance.now() < until; turns += 1) await turn();
  const grownBytes = process.memoryUsage().heapUsed - before;
  expect(grownBytes / count).toBeLessThan(bytesEach);
  expect(turnsOfReads.length).toBeGreaterThanOrEqual(reads);
  // Memory answers within the tick; still no two reads share a turn of the loop.
  expect(new Set(turnsOfReads).size).toBe(turnsOfReads.length);
  // The answer that everyone waits for comes to each; who gives up is told too.
  const few = handles.slice(0, 2_000);
  for (const { id } of few) await engine.storage.cancel(id);
  stop.abort();
  await Promise.all(waits);
  expect(outcomes.told + outcomes.aborted).toBe(count);
  expect(process.listenerCount('warning')).toBeLessThan(10);
}, 40_000);
