/** What the HTTP API says of jobs. Times are ISO 8601 texts of the database's clock. */
import { z } from 'zod';
import { jobStatuses } from '../../core/job-status.js';
import { named } from './schema-registry.js';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const text = z.string();

export const jobStatusName = z.enum(jobStatuses);

const listingFields = {
  id: z.uuid(),
  name: text,
  queue: text,
  status: jobStatusName,
  priority: z.number().int(),
  attempts: count.describe('Failed attempts so far.'),
  maxAttempts: count,
  deaths: count.describe('Times the process that ran it died.'),
  createdAt: time,
  dueAt: time,
  claimedAt: time.nullable().describe('When it last went to a worker.'),
  finishedAt: time.nullable(),
  workerId: text.nullable().describe('The worker that holds it, or held it last.'),
  tags: z.array(text).readonly(),
};

export const jobListing = named('JobListing', 'A job as lists show it.', z.object(listingFields));

export const failureRecord: z.ZodType<FailureShape> = named(
  'Failure',
  'An error, as it was kept.',
  z.object({
    name: text,
    message: text,
    stack: text.optional(),
    code: text.optional(),
    get cause() {
      return failureRecord.optional();
    },
  }),
);

export interface FailureShape {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: string | undefined;
  readonly cause?: FailureShape | undefined;
}

export const jobFailure = z.object({
  at: time,
  attempt: count,
  kind: z.enum(['failed', 'timed-out', 'died', 'poison', 'cancelled']),
  worker: text.optional(),
  error: failureRecord,
});

export const jobProgress = named(
  'Progress',
  'How far the handler of a job said it is.',
  z.object({ done: z.number(), total: z.number().optional(), note: text.optional(), at: time }),
);

export const limitShape = z.object({ group: text, key: text.nullable(), max: count.nullable() });

export const jobShape = named(
  'Job',
  'A job with all that is known of it.',
  z.object({
    ...listingFields,
    input: z.unknown(),
    version: count.describe('Of the shape of the input.'),
    result: z
      .unknown()
      .optional()
      .describe('What its handler returned; left out unless completed with a value.'),
    progress: jobProgress.nullable(),
    failures: z.array(jobFailure).readonly().describe('The first and the newest nine.'),
    outcome: z.literal('skipped').nullable(),
    reason: text.nullable().describe('Why it is buried, cancelled or was put back.'),
    stopRequest: z.enum(['cancel', 'bury', 'delete']).nullable(),
    leaseUntil: time.nullable(),
    uniqueKey: text.nullable(),
    retentionMs: z.number().nullable(),
    alone: z.boolean(),
    waitsFor: z.array(z.uuid()).readonly(),
    failedParents: z
      .array(z.object({ id: z.uuid(), status: z.enum(['buried', 'cancelled']) }))
      .readonly()
      .describe('Those it waited for that did not complete, where it ended since one of them did not.'),
    limit: limitShape.nullable(),
    cost: count,
    requires: z.array(text).readonly(),
  }),
);

export const jobsPage = named(
  'JobsPage',
  'One page of jobs.',
  z.object({
    jobs: z.array(jobListing).readonly(),
    next: text.nullable().describe('Pass it as `cursor` for the next page; null on the last one.'),
  }),
);

export const dispatchedShape = named(
  'Dispatched',
  'The job that stands for a dispatch.',
  z.object({
    id: z.uuid(),
    deduplicated: z
      .boolean()
      .describe('It had been there before: same id or idempotency key, or another job holds the unique key.'),
  }),
);

export const dispatchedMany = named(
  'DispatchedMany',
  'The jobs of a bulk dispatch, in its order.',
  z.object({ jobs: z.array(dispatchedShape).readonly() }),
);

export const controlAnswer = named(
  'ControlAnswer',
  'What became of an order about one job.',
  z.object({
    id: z.uuid(),
    outcome: z.enum(['done', 'requested']).describe('`requested`: it runs, and was asked to stop.'),
  }),
);

export const bulkAnswer = named(
  'BulkReport',
  'What became of an order about many jobs.',
  z.object({
    dryRun: z.boolean(),
    matched: count,
    done: count,
    requested: count.describe('Running jobs that were asked to stop.'),
    skipped: count.describe('Jobs that had moved on, or whose unique key another one holds.'),
    outcomes: z.record(text, count),
    sample: z.array(jobListing).readonly().describe('The first ten that fitted, as they were.'),
  }),
);

const reason = z.object({
  code: text,
  sentence: text,
  numbers: z.record(text, z.number()).describe('Lengths of time in ms.'),
  nextChangeAt: time.nullable(),
});

export const whyJobAnswer = named(
  'WhyJob',
  'Why a job is where it is; the reason to look at first stands first.',
  z.object({ job: jobShape, reasons: z.array(reason).readonly() }),
);

export const logLineShape = named(
  'LogLine',
  'A line that a handler wrote, or its progress as it was stored.',
  z.object({
    cursor: text,
    at: time,
    kind: z.enum(['log', 'progress']),
    level: z.enum(['debug', 'info', 'warn', 'error']),
    text,
  }),
);

export const logPage = named(
  'LogPage',
  'Lines of a job, the oldest first.',
  z.object({ lines: z.array(logLineShape).readonly() }),
);

export const endingAnswer = named(
  'JobEnding',
  'How a job ended, or that it has not.',
  z.object({
    id: z.uuid(),
    status: jobStatusName,
    result: z.unknown().optional(),
    failures: z.array(jobFailure).readonly(),
    reason: text.nullable(),
  }),
);

/** `data` of the events of `GET /jobs/{id}/events`, by their `event`. */
export const statusEvent = named(
  'StatusEvent',
  '`event: status`: the job is in this status now.',
  z.object({
    ...listingFields,
    reason: text.nullable(),
    stopRequest: z.enum(['cancel', 'bury', 'delete']).nullable(),
  }),
);

/** A stream is text for a schema. */
export const eventText = z.string();

export type JobListingShape = z.output<typeof jobListing>;
export type JobShape = z.output<typeof jobShape>;
export type StatusEventShape = z.output<typeof statusEvent>;
