/** What the HTTP API says of, and is asked about, workers and hubs. */
import { z } from 'zod';
import { named } from './schema-registry.js';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();
const text = z.string();
const adminState = z.enum(['active', 'drain', 'standby']);

const laneView = z.object({
  kind: z.enum(['inline', 'process', 'browser']),
  number: count,
  state: text,
  width: count,
  running: count,
  jobs: z
    .array(z.object({ id: text, name: text, attempt: count, startedAt: time }))
    .readonly()
    .describe('What runs there, the longest running first, at most 10.'),
  pid: count.nullable(),
  restarts: count,
  jobsDone: count,
  rssBytes: count.nullable(),
  note: text.nullable(),
});

export const workerShape = named(
  'Worker',
  'A registered worker. `alive`, `routable` and `adminState` are three things; `status` is one word for people.',
  z.object({
    id: text,
    incarnation: text,
    host: text,
    pid: count,
    version: text,
    link: z.enum(['storage', 'hub']),
    hubId: text.nullable().describe('The hub that it is connected to.'),
    status: z.enum(['active', 'drain', 'standby', 'stale', 'offline']),
    state: text.describe('Of its lifecycle, in capitals.'),
    stateSince: time.nullable(),
    adminState,
    alive: z.boolean(),
    routable: z.boolean().describe('It may get work now.'),
    recycleAsked: z.boolean(),
    startedAt: time,
    heartbeatAt: time,
    silentForMs: z.number(),
    disconnectedForMs: z
      .number()
      .nullable()
      .describe('Since the hub lost its socket; null while it is connected, or on a storage link.'),
    restarts: count,
    transitions: z.array(z.object({ state: text, at: time, reason: text })).readonly(),
    drain: z.object({ reason: text, owner: text, deadlineAt: time.nullable() }).nullable(),
    queues: z.array(text).readonly(),
    handlers: z.array(text).readonly(),
    labels: z.array(text).readonly(),
    concurrency: count,
    running: count,
    lanes: z.array(laneView).readonly(),
    jobsDone: count,
    usage: z.object({
      cpu: z.number(),
      rssBytes: z.number(),
      heapBytes: z.number(),
      loopLagMs: z.number(),
      disk: z.object({ freeBytes: z.number(), totalBytes: z.number() }).nullable(),
    }),
    details: z.record(text, z.unknown()),
  }),
);

export const workersAnswer = named(
  'Workers',
  'The registered workers, of every process.',
  z.object({ workers: z.array(workerShape).readonly() }),
);

export const whyWorkerAnswer = named(
  'WhyWorker',
  'Why a worker gets no work; the reason to look at first stands first.',
  z.object({
    worker: workerShape,
    reasons: z
      .array(z.object({ code: text, sentence: text, numbers: z.record(text, z.number()) }))
      .readonly(),
  }),
);

export const adminStateBody = named(
  'AdminStateChange',
  'What an operator wants of a worker, kept under its id.',
  z.strictObject({ adminState }),
);

export const workerOrdered = named(
  'WorkerOrdered',
  'It is so now, or was asked of the worker.',
  z.object({ id: text, outcome: z.literal('done') }),
);

export const workerParams = z.object({ id: text.describe('The id of a worker.') });

export const hubsAnswer = named(
  'Hubs',
  'The hubs over this database.',
  z.object({
    hubs: z
      .array(
        z.object({
          id: text,
          host: text,
          pid: count,
          version: text,
          advertiseUrl: text.nullable(),
          connections: count.describe('Workers connected to it.'),
          details: z.record(text, z.unknown()),
          startedAt: time,
          heartbeatAt: time,
          silentForMs: z.number(),
        }),
      )
      .readonly(),
  }),
);

export type WorkerShape = z.output<typeof workerShape>;
