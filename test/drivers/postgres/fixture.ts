import pg from 'pg';
import { uuidv7 } from '../../../src/internal/uuid.js';
import type { ClaimRequest } from '../../../src/storage/claimed-job.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { type ClaimWish, claimOf } from '../../support/claim-request.js';

export function newJob(over: Partial<NewJob> = {}): NewJob {
  return {
    id: uuidv7(),
    name: 'work',
    queue: 'default',
    payload: '{}',
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
    ...over,
  };
}

let claims = 0;

export function claimRequest(over: Partial<ClaimWish> = {}): ClaimRequest {
  claims += 1;
  return claimOf({
    token: `fedcba9876543210${claims.toString(16).padStart(16, '0')}`,
    workerId: 'w',
    leaseMs: 45_000,
    queues: ['default'],
    names: ['work'],
    limit: 100,
    start: 100,
    alone: false,
    ...over,
  });
}

/** Runs `work` with a plain client of the driver's. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // It may still say goodbye when its database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
