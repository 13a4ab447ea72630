import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineJob, Millrace } from '../../../dist/index.js';

const resultMs = 120_000;

/** Each page is a job in SQLite, in a context of its own, its result stored. */
export async function crawl({ urls, width }) {
  const folder = await mkdtemp(join(tmpdir(), 'mr-bench-'));
  const page = defineJob('page', {
    lane: 'browser',
    async run({ tab, input }) {
      await tab.goto(input.url);
      await tab.screenshot({ type: 'jpeg' });
      return await tab.title();
    },
  });
  const logger = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((name) => [name, () => undefined]),
  );
  const millrace = new Millrace({ database: `sqlite:${join(folder, 'bench.db')}`, jobs: [page], logger });
  const worker = millrace.worker({ browserLanes: width });
  try {
    await worker.start();
    const startedMs = performance.now();
    const handles = await millrace.dispatchMany(urls.map((url) => ({ job: page, input: { url } })));
    await Promise.all(handles.map((handle) => handle.result({ timeout: resultMs })));
    return performance.now() - startedMs;
  } finally {
    await worker.stop();
    await millrace.close();
    await rm(folder, { recursive: true, force: true });
  }
}
