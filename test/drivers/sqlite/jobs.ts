import { randomBytes } from 'node:crypto';
import { uuidv7 } from '../../../src/internal/uuid.js';
import type { ClaimedJob, ClaimRequest } from '../../../src/storage/claimed-job.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import type { Settlement } from '../../../src/storage/settlement.js';
import { type ClaimWish, claimOf } from '../../support/claim-request.js';

/** A job as the client would hand it over, with what a test wants otherwise. */
export function newJob(differences: Partial<NewJob> = {}): NewJob {
  return {
    id: uuidv7(),
    name: 'work',
    queue: 'default',
    payload: '{"text":"hello"}',
    version: 1,
    tags: [],
    priority: 0,
    due: { inMs: 0 },
    maxAttempts: 3,
    retentionMs: null,
    unique: null,
    idempotency: null,
    after: null,
    limit: null,
    cost: 1,
    requires: [],
    ...differences,
  };
}

export const newJobs = (count: number, differences: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, () => newJob(differences));

export function claimRequest(differences: Partial<ClaimWish> = {}): ClaimRequest {
  const limit = differences.limit ?? 10;
  return claimOf({
    token: randomBytes(16).toString('hex'),
    workerId: 'w-1',
    leaseMs: 45_000,
    queues: ['default'],
    names: ['work'],
    limit,
    start: limit,
    alone: false,
    ...differences,
  });
}

export const completed = (jobs: readonly ClaimedJob[]): Settlement[] =>
  jobs.map(({ id, token }) => ({ id, token, kind: 'completed', result: null }));
