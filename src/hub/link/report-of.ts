import type { HelloMessage, WorkerStatusShape } from '../../protocol/worker-messages.js';
import type { WorkerReport } from '../../storage/worker-record.js';

/** The registration of a worker, by what it says of itself. */
export function reportOf(id: string, hello: HelloMessage, hubId: string): WorkerReport {
  return {
    id,
    incarnation: hello.incarnation,
    host: hello.host,
    pid: hello.pid,
    version: hello.version,
    link: 'hub',
    hubId,
    queues: hello.queues,
    handlers: hello.handlers.map(({ name }) => name),
    labels: hello.labels,
    concurrency: hello.concurrency,
    restarts: hello.restarts,
    ...hello.status,
  };
}

/** The same with newer numbers. */
export function updatedReport(report: WorkerReport, status: WorkerStatusShape): WorkerReport {
  return { ...report, ...status };
}
