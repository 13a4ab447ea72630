import type { JobRecord } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import type { FailedParent, JobSurroundings } from './job-view.js';
import { lastProgress } from './last-progress.js';

/** What of the view of a job is read elsewhere than in its row. */
export async function surroundingsOf(storage: Storage, record: JobRecord): Promise<JobSurroundings> {
  return {
    progress: await lastProgress(storage, record),
    failedParents: await failedParents(storage, record),
  };
}

async function failedParents(storage: Storage, { waitedFor }: JobRecord): Promise<FailedParent[]> {
  if (waitedFor.length === 0) return [];
  const endings = await storage.endings(waitedFor);
  const failed = endings.flatMap(({ id, status }): FailedParent[] =>
    status === 'buried' || status === 'cancelled' ? [{ id, status }] : [],
  );
  return failed.sort((a, b) => (a.id < b.id ? -1 : 1));
}
