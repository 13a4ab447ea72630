/** What the link carries about jobs, as it stands in a message. The same shapes as those of the storage seam. */
import { z } from 'zod';
import { isJobName, isQueueName, jobNameRule, queueNameRule } from '../internal/name-rule.js';

/** What some databases refuse: a refused text would keep its job from ever ending. */
const unstorable = /[\0\p{Surrogate}]/u;
export const storableText = z
  .string()
  .refine((value) => !unstorable.test(value), 'expected a text without NUL and lone surrogates');

const text = storableText;
const count = z.number().int().nonnegative();
const jobName = z.string().refine(isJobName, `expected ${jobNameRule}`);
const queueName = z.string().refine(isQueueName, `expected ${queueNameRule}`);
/** Beyond any use, and within what the integers of every database hold. */
const longestMs = 100_000_000_000_000;
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

const delayMs = z.number().nonnegative().max(longestMs);

/** How a lease ends. `died` is a lane that died under the job. */
export const settlement = z.discriminatedUnion('kind', [
  z.object({
    ...lease.shape,
    kind: z.literal('completed'),
    result: text.nullable(),
    outcome: z.literal('skipped').exactOptional(),
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

const sometime = z.number().min(-longestMs).max(longestMs);

const newJobLimit = z.object({
  group: queueName,
  key: text.min(1).max(191).nullable(),
  max: z.number().int().min(1).max(1_000_000).nullable(),
});

export const newJob = z.object({
  id: jobId,
  name: jobName,
  queue: queueName,
  payload: text,
  version: z.number().int().positive(),
  tags: z.array(jobName).max(10),
  priority: z.number().int().min(-100).max(100),
  due: z.union([z.object({ inMs: sometime }), z.object({ atMs: sometime })]),
  maxAttempts: z.number().int().positive(),
  retentionMs: delayMs.nullable(),
  unique: z
    .object({
      key: text.max(191),
      scope: z.enum(['waiting', 'active', 'period']),
      periodMs: delayMs,
    })
    .nullable(),
  idempotency: z.object({ key: text.max(191), inputHash: text }).nullable(),
  after: z.object({ ids: z.array(jobId), onFailure: z.enum(['bury', 'cancel', 'run']) }).nullable(),
  limit: newJobLimit.nullable(),
  cost: z.number().int().min(1).max(1_000_000),
  requires: z.array(queueName).max(10),
});

export const enqueueOutcome = z.object({
  outcome: z.enum(['created', 'replayed', 'duplicate', 'idempotency-conflict', 'parent-not-found']),
  id: jobId,
});

export const logLine = z.object({
  id: jobId,
  token: leaseToken,
  /** Counts up from 1 within the lease. */
  seq: z.number().int().positive(),
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

/** What is said of a file while it comes: its id is that of the upload too. */
export const fileUpload = z.object({ id: jobId, lease, name: text.max(10_000), type: text.max(200) });

export const fileRecord = z.object({
  id: jobId,
  jobId,
  name: text,
  type: text,
  sizeBytes: count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: z.number(),
});
