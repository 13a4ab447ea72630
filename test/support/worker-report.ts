import type { WorkerReport } from '../../src/storage/worker-record.js';
import { blankStatus } from '../../src/worker/link/link.js';

/** What a worker may say of itself; an id and an incarnation are the test's own. */
export function workerReport(
  with_: Partial<WorkerReport> & Pick<WorkerReport, 'id' | 'incarnation'>,
): WorkerReport {
  return {
    ...blankStatus,
    host: 'host.example',
    pid: 4_711,
    version: '0.1.0',
    link: 'storage',
    hubId: null,
    state: 'RUNNING',
    queues: ['default'],
    handlers: ['work'],
    labels: [],
    concurrency: 10,
    restarts: 0,
    ...with_,
  };
}
