/** What the HTTP API is asked about jobs. Shapes only: what an option may be is for the same rules as in `dispatch`. */
import { z } from 'zod';
import { largestPage, mostJobsAtOnce } from './http-terms.js';
import { jobStatusName } from './job-answers.js';
import { named } from './schema-registry.js';

const text = z.string();
const jobReference = text;
const duration = z
  .union([z.number(), text])
  .describe("Milliseconds, or a text such as '30s', '5m', '1h30m'.");
const moment = z
  .union([z.number(), text])
  .describe('Epoch milliseconds, or an ISO 8601 text with its time zone.');
const priority = z
  .union([z.enum(['low', 'normal', 'high', 'urgent']), z.number().int().min(-100).max(100)])
  .describe('A higher one runs first.');
const labels = z.union([text, z.array(text).max(10)]);

export const uniqueWish = z.union([
  z.boolean(),
  z.strictObject({
    key: text.optional().describe('What makes two jobs of a name the same; by default their input.'),
    while: z.enum(['waiting', 'active']).optional(),
    period: duration.optional(),
  }),
]);

export const dispatchWishes = named(
  'DispatchOptions',
  'What holds for one job, before what its definition says.',
  z.strictObject({
    id: jobReference.optional().describe('A UUID of your own: the same id never makes a second job.'),
    queue: text.optional(),
    tags: z.array(text).max(10).optional(),
    priority: priority.optional(),
    delay: duration.optional().describe('Due so long from now.'),
    runAt: moment.optional().describe('Due at this time.'),
    attempts: z.number().int().optional().describe('Failed attempts after which it is buried.'),
    unique: uniqueWish.optional(),
    limit: z
      .union([
        z.literal(false),
        z.strictObject({ group: text.optional(), max: z.number().int().optional(), key: text.optional() }),
      ])
      .optional(),
    cost: z.number().int().optional(),
    requires: labels.optional().describe('Labels that a worker must have.'),
    idempotencyKey: text.optional().describe('As the header `Idempotency-Key`.'),
    after: z
      .union([
        jobReference,
        z.array(jobReference).max(mostJobsAtOnce),
        z.strictObject({
          jobs: z.union([jobReference, z.array(jobReference).max(mostJobsAtOnce)]),
          onFailure: z.enum(['bury', 'cancel', 'run']).optional(),
        }),
      ])
      .optional()
      .describe('Runs once these jobs have completed.'),
    version: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'Of the shape of the payload, where it is not the one of the hub’s definition: one more than its lifts.',
      ),
    retention: duration.optional().describe('How long it is kept once completed or cancelled.'),
  }),
);

export const dispatchBody = named(
  'Dispatch',
  'One job to dispatch.',
  z.strictObject({
    name: text,
    payload: z.unknown().optional().describe('The input of the job; null when left out.'),
    options: dispatchWishes.optional(),
  }),
);

export const dispatchManyBody = named(
  'DispatchMany',
  'Jobs to dispatch. `after` may name jobs of the same call, by an id of your own.',
  z.strictObject({ jobs: z.array(dispatchBody).max(mostJobsAtOnce) }),
);

/** What each may be is for the same rules as in `pageCapture`. */
export const captureBody = named(
  'Capture',
  'A page to capture, by the built-in job `page.capture`.',
  z.strictObject({
    url: text.describe('`http` or `https`.'),
    waitUntil: z.enum(['domcontentloaded', 'load', 'quiet']).optional(),
    waitFor: text.optional().describe('Also until this selector is visible.'),
    timeout: duration.optional().describe('For all of it; 60 s by default.'),
    scroll: z.boolean().optional().describe('To the bottom and back, for what loads late; true by default.'),
    screenshot: z
      .union([
        z.literal(false),
        z.strictObject({
          of: z.union([z.enum(['page', 'viewport']), z.strictObject({ selector: text })]).optional(),
          type: z.enum(['png', 'jpeg', 'webp']).optional(),
          quality: z.number().int().optional(),
        }),
      ])
      .optional(),
    html: z.boolean().optional(),
    text: z.boolean().optional(),
    links: z.boolean().optional(),
    pdf: z.boolean().optional(),
    assets: z
      .union([
        z.boolean(),
        z.strictObject({
          kinds: z.array(text).optional(),
          minBytes: z.number().int().optional(),
          maxBytes: z.number().int().optional(),
          maxTotalBytes: z.number().int().optional(),
        }),
      ])
      .optional(),
    steps: z.array(z.record(text, z.unknown())).max(50).optional().describe('Done before anything is kept.'),
    headers: z.record(text, text).optional(),
    cookies: z.array(z.record(text, z.unknown())).optional(),
    device: z.union([z.enum(['desktop', 'phone']), z.record(text, z.unknown())]).optional(),
    blockUrls: z.array(text).optional(),
    contact: text.optional().describe('How the owner of the site reaches you, in the user agent.'),
  }),
);

export const dispatchHeaders = z.object({
  'idempotency-key': text
    .optional()
    .describe(
      'The same key with the same job and payload answers with the first job; with another payload it is a 409.',
    ),
});

/** Some databases refuse such a text, and none can have it. */
const findable = text.refine((given) => !/\0|\p{Cs}/u.test(given), {
  error: 'expected a text without NUL and halves of characters',
});
const whereFields = {
  status: jobStatusName.optional(),
  queue: text.optional(),
  name: text.optional(),
  tag: text.optional(),
  errorText: findable.optional().describe('Stands in the message of the last failure.'),
  worker: findable.optional().describe('Holds the job, or held it last.'),
};
const ago = z
  .union([z.number(), text])
  .describe("Epoch milliseconds, an ISO 8601 text with its time zone, or how long ago, as in '2h'.");

export const whereBody = named(
  'JobsWhere',
  'Which jobs are meant: those for which all that is given holds.',
  z.strictObject({
    ...whereFields,
    createdAfter: ago.optional(),
    createdBefore: ago.optional(),
    finishedAfter: ago.optional(),
    finishedBefore: ago.optional(),
  }),
);

const pageFields = {
  limit: z.coerce.number().int().min(1).max(largestPage).optional().describe('Entries a page.'),
  cursor: text.optional().describe('`next` of the page before.'),
};

/** A query has texts alone; one of digits only is a time in epoch ms. */
const queryMoment = text
  .transform((given) => (/^\d{10,15}$/.test(given) ? Number(given) : given))
  .describe("Epoch milliseconds, an ISO 8601 text with its time zone, or how long ago, as in '2h'.");

export const jobsQuery = z.strictObject({
  ...whereFields,
  createdAfter: queryMoment.optional(),
  createdBefore: queryMoment.optional(),
  finishedAfter: queryMoment.optional(),
  finishedBefore: queryMoment.optional(),
  ...pageFields,
});

export const pageQuery = z.strictObject(pageFields);

export const logQuery = z.strictObject({
  after: text.optional().describe('`cursor` of the last line seen.'),
  limit: pageFields.limit,
});

export const endingQuery = z.strictObject({
  wait: text
    .optional()
    .describe("How long to wait for the end of the job, as in '20s'; at most 30 s. By default not at all."),
});

export const eventQuery = z.strictObject({
  since: text.optional().describe('As the header `Last-Event-ID`, which goes before it.'),
});

export const eventHeaders = z.object({
  'last-event-id': text.optional().describe('`id` of the last event seen.'),
});

export const idParams = z.object({ id: text.describe('The full id of a job.') });

export const editBody = named(
  'Edit',
  'What to change of a job that waits; what is left out stays.',
  z.strictObject({
    input: z.unknown().optional(),
    priority: priority.optional(),
    queue: text.optional(),
    delay: duration.optional(),
    runAt: moment.optional(),
  }),
);

export const bulkBody = named(
  'BulkOrder',
  'An order about every job that fits.',
  z.strictObject({
    where: whereBody,
    dryRun: z.boolean().optional().describe('Counts and shows, and changes nothing.'),
  }),
);

export const bulkEditBody = named(
  'BulkEdit',
  'A change of every waiting job that fits.',
  z.strictObject({ where: whereBody, dryRun: z.boolean().optional(), edit: editBody }),
);

export const noBody = z.union([z.undefined(), z.null(), z.strictObject({})]);

export type DispatchBody = z.input<typeof dispatchBody>;
export type DispatchWishes = z.input<typeof dispatchWishes>;
