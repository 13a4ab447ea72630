/** What the HTTP API says of, and is asked about, queues, upkeep and the hub itself. */
import { z } from 'zod';
import { named } from './schema-registry.js';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const text = z.string();
const duration = z
  .union([z.number(), text])
  .describe("Milliseconds, or a text such as '30s', '5m', '1h30m'.");

export const queueShape = named(
  'Queue',
  'The numbers of a queue.',
  z.object({
    queue: text,
    paused: z.boolean(),
    pending: count,
    claimable: count.describe('Of the pending ones, due and allowed to run.'),
    blocked: count,
    processing: count,
    completed: count.describe('Since the database was made; a purge does not lower it.'),
    buried: count,
    cancelled: count,
    oldestDueForMs: z.number().nullable(),
  }),
);

export const queuesAnswer = named(
  'Queues',
  'Every queue.',
  z.object({ queues: z.array(queueShape).readonly() }),
);

export const statsQuery = z.strictObject({ queue: text.optional() });

export const limitsAnswer = named(
  'Limits',
  'What runs and waits under limits now, by group and key; the first 1,000.',
  z.object({
    limits: z
      .array(
        z.object({
          group: text,
          key: text.nullable(),
          max: count.nullable(),
          running: count,
          runningCost: count,
          waiting: count,
        }),
      )
      .readonly(),
  }),
);

export const queueParams = z.object({ name: text.describe('The name of a queue.') });

export const queuePaused = named(
  'QueuePaused',
  'Whether a queue is paused now.',
  z.object({ queue: text, paused: z.boolean() }),
);

export const buriedRetried = named(
  'BuriedRetried',
  'What became of the buried jobs of a queue.',
  z.object({ retried: count, duplicates: count.describe('Left, since another job holds their unique key.') }),
);

export const purgeBody = named(
  'Purge',
  'Which ended jobs to delete.',
  z.strictObject({
    olderThan: duration
      .optional()
      .describe('Ended at least so long ago; by default what the retention says.'),
    statuses: z.array(z.enum(['completed', 'buried', 'cancelled'])).optional(),
  }),
);

export const purged = named('Purged', 'How many jobs were deleted.', z.object({ purged: count }));

export const tickBody = named(
  'Tick',
  'One round of work in the process of the hub.',
  z.strictObject({
    budget: duration.optional().describe('How long the whole may take; 50 s by default, at most 5 minutes.'),
    queues: z.array(text).min(1).max(100).optional(),
  }),
);

export const recoverBody = named(
  'Recover',
  'Takes back expired leases.',
  z.strictObject({
    force: z
      .boolean()
      .optional()
      .describe('Also without evidence that their holders are gone: a job may run twice.'),
  }),
);

export const recovered = named(
  'Recovered',
  'Leases that were taken back.',
  z.object({
    retried: z.record(text, count).describe('Due again, by queue.'),
    buried: z.record(text, count),
    ended: count,
    waiting: count.describe('Left alone for want of evidence.'),
  }),
);

export const tickAnswer = named(
  'TickReport',
  'What a tick came to.',
  z.object({
    completed: count,
    failed: count,
    buried: count,
    cancelled: count,
    snoozed: count,
    putBack: count,
    died: count,
    leaseLost: count,
    recovered,
    timeIsUp: z.boolean(),
  }),
);

export const auditPage = named(
  'AuditPage',
  'What operators did, the newest first.',
  z.object({
    entries: z
      .array(
        z.object({
          id: text,
          actor: text,
          action: text,
          target: text,
          source: text,
          at: time,
          result: text,
        }),
      )
      .readonly(),
    next: text.nullable(),
  }),
);

export const healthAnswer = named(
  'Health',
  'The process lives.',
  z.object({
    status: z.literal('ok'),
    version: text,
    uptimeMs: z.number(),
    details: z.record(text, z.unknown()),
  }),
);

export const readyAnswer = named('Ready', 'The database answers.', z.object({ status: z.literal('ready') }));
