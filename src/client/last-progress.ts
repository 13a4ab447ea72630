import type { JobRecord } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import { type JobProgress, progressOf } from './progress-watcher.js';

const logPage = 1000;

/** How far a job is that runs, as its handler said last; null when it said nothing. A job keeps at most 1,000 lines, so this is one read or two. */
export async function lastProgress(
  storage: Storage,
  { id, status }: Pick<JobRecord, 'id' | 'status'>,
): Promise<JobProgress | null> {
  if (status !== 'processing') return null;
  let last: JobProgress | null = null;
  let after: string | undefined;
  for (;;) {
    const page = await storage.log(id, { limit: logPage, ...(after === undefined ? {} : { after }) });
    last = page.flatMap(progressOf).at(-1) ?? last;
    after = page.at(-1)?.cursor;
    if (page.length < logPage || after === undefined) return last;
  }
}
