import { Millrace } from '../../dist/index.js';
import { perSecond } from '../clock.mjs';
import { percentile } from '../statistics.mjs';
import { noopIn } from './lane-module.mjs';

const module = new URL('./lane-module.mjs', import.meta.url);

/**
 * Jobs that do nothing, in `lanes` process lanes or in so many inline slots. The worker is warm: time runs from the
 * dispatch of all to the end of the last. A round trip is an attempt as its worker sees it, from its start to its end.
 */
export async function runInLanes({ database, jobs, lanes, kind }) {
  const noop = noopIn(kind);
  const millrace = new Millrace({ database, jobs: [noop], migrate: 'auto' });
  const options = kind === 'process' ? { module, processLanes: lanes } : { concurrency: lanes };
  const worker = millrace.worker(options);
  await worker.start();
  const trips = [];
  millrace.on('job:completed', ({ durationMs }) => trips.push(durationMs));
  const warm = await millrace.dispatch(noop, null);
  await warm.result({ timeout: '30s' });
  await worker.idle();
  trips.length = 0;
  const startedMs = performance.now();
  await millrace.dispatchMany(Array.from({ length: jobs }, () => ({ job: noop, input: null })));
  await worker.idle();
  const elapsedMs = performance.now() - startedMs;
  const { completed } = await millrace.stats('default');
  await worker.stop();
  await millrace.close();
  const problems = completed === jobs + 1 ? [] : [`${completed - 1} of ${jobs} jobs were completed`];
  const at = (share) => percentile(trips, share) ?? Number.NaN;
  return { jobs, perSec: perSecond(jobs, elapsedMs * 1_000), p50: at(0.5), p95: at(0.95), problems };
}
