/** What the link carries about jobs, as it stands in a message. The same shapes as those of the storage seam. */
import { z } from 'zod';

const text = z.string();
const count = z.number().int().nonnegative();
export const jobId = z.uuid();
export const leaseToken = z.string().regex(/^[0-9a-f]{32}$/);
export const incarnation = z.string().regex(/^[0-9a-f]{16}$/);
export const laneKindName = z.enum(['inline', 'process', 'browser']);

export const lease = z.object({ id: jobId, token: leaseToken });

export const heldLease = z.object({
  id: jobId,
  token: leaseToken,
  stopRequest: z.enum(['cancel', 'bury', 'delete']).nullable(),
});

export const jobLimit = z.object({ group: text, key: text.nullable(), max: count.nullable() });

export const claimedJob = z.object({
  id: jobId,
  token: leaseToken,
  name: text,
  queue: text,
  payload: text,
  version: count,
  priority: z.number().int(),
  attempts: count,
  maxAttempts: count,
  deaths: count,
  lapses: count,
  started: z.boolean(),
  errors: text.nullable(),
  createdAtMs: z.number(),
  dueAtMs: z.number(),
  limit: jobLimit.nullable(),
  cost: count,
  requires: z.array(text),
});

const delayMs = z.number().nonnegative();

/** How a lease ends. `died` is a lane that died under the job. */
export const settlement = z.discriminatedUnion('kind', [
  z.object({
    ...lease.shape,
    kind: z.literal('completed'),
    result: text.nullable(),
    outcome: z.literal('skipped').optional(),
  }),
  z.object({ ...lease.shape, kind: z.literal('retry'), delayMs, errors: text }),
  z.object({
    ...lease.shape,
    kind: z.literal('buried'),
    reason: z.enum(['attempts-exhausted', 'non-retriable', 'poison', 'operator', 'parent-failed']),
    errors: text,
  }),
  z.object({ ...lease.shape, kind: z.literal('cancelled'), reason: text.nullable() }),
  z.object({ ...lease.shape, kind: z.literal('snoozed'), delayMs }),
  z.object({ ...lease.shape, kind: z.literal('put-back'), delayMs, reason: text }),
  z.object({ ...lease.shape, kind: z.literal('died'), delayMs, alone: z.boolean(), errors: text }),
]);

export const settleOutcome = z.enum(['done', 'lease-lost', 'already-final']);

export const newJob = z.object({
  id: jobId,
  name: text,
  queue: text,
  payload: text,
  version: z.number().int().positive(),
  tags: z.array(text).max(10),
  priority: z.number().int().min(-100).max(100),
  due: z.union([z.object({ inMs: z.number() }), z.object({ atMs: z.number() })]),
  maxAttempts: z.number().int().positive(),
  retentionMs: z.number().nonnegative().nullable(),
  unique: z
    .object({
      key: text.max(191),
      scope: z.enum(['waiting', 'active', 'period']),
      periodMs: z.number().nonnegative(),
    })
    .nullable(),
  idempotency: z.object({ key: text.max(191), inputHash: text }).nullable(),
  after: z.object({ ids: z.array(jobId), onFailure: z.enum(['bury', 'cancel', 'run']) }).nullable(),
  limit: jobLimit.nullable(),
  cost: z.number().int().min(1).max(1_000_000),
  requires: z.array(text).max(10),
});

export const enqueueOutcome = z.object({
  outcome: z.enum(['created', 'replayed', 'duplicate', 'idempotency-conflict', 'parent-not-found']),
  id: jobId,
});

export const logLine = z.object({
  id: jobId,
  token: leaseToken,
  seq: count,
  kind: z.enum(['log', 'progress']),
  level: z.enum(['debug', 'info', 'warn', 'error']),
  text,
});

export const profileNote = z.object({
  name: text,
  count: z.number().int().positive(),
  totalMs: count,
  maxRssBytes: count.nullable(),
});

export const handlerProfile = z.object({
  name: text,
  count,
  averageMs: z.number(),
  peakRssBytes: count.nullable(),
});

/** Room for jobs of one kind of lane. `start`: how many start at once; the rest waits in the worker's buffer. */
export const take = z.object({
  queues: z.array(text).min(1),
  names: z.array(text).min(1),
  limit: z.number().int().min(1).max(1_000),
  start: z.number().int().min(0).max(1_000),
});

/** What a worker could run now. It stands until the next one of this connection takes its place. */
export const want = z.object({
  /** The last `assign` that this worker had received when it wrote this; 0 for none. What came after counts against the room. */
  after: count,
  /** None: no room at all. */
  takes: z.array(take).max(16),
  /** One job that must run with nothing beside it, and none other. */
  alone: z.boolean(),
});
