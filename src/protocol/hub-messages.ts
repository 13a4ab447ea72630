/** Messages of a hub to a worker. `re` is the `id` of the message that is answered; see PROTOCOL.md for each. */
import { z } from 'zod';
import {
  claimedJob,
  enqueueOutcome,
  fileRecord,
  handlerProfile,
  heldLease,
  jobId,
  type lease,
  settleOutcome,
} from './job-shapes.js';

const text = z.string();
const count = z.number().int().nonnegative();
const re = z.number().int().positive();
const adminState = z.enum(['active', 'drain', 'standby']);

/** Answers `hello`: from now on this worker may get jobs. */
export const welcome = z.object({
  type: z.literal('welcome'),
  re,
  /** The id it is known by; another one than it asked for where that is another living worker's. */
  workerId: text,
  hubId: text,
  /** Rises with each connection of this worker id. */
  epoch: count,
  adminState,
  recycleAsked: z.boolean(),
  paused: z.array(text),
  /** What storage says this incarnation holds, of what it said it holds. The rest is lost: its handlers are to stop. */
  held: z.array(heldLease),
  leaseMs: count,
  heartbeatMs: count,
  ttlMs: count,
  pingMs: count,
  silenceMs: count,
  maxFrameBytes: count,
  maxPayloadBytes: count,
  /** By the clock of the database, epoch ms. */
  nowMs: z.number(),
});

/** Jobs to run, leased to this worker. Acknowledged by the `after` of the next want. */
export const assign = z.object({
  type: z.literal('assign'),
  /** Counts up from 1 within the connection. */
  assign: z.number().int().positive(),
  /** The message whose want it answers at once (there may be no jobs in it), or null: that want still stood when work came. */
  re: re.nullable(),
  /** `id` of the last `beat` or `hello` that the hub had heard before it took these jobs: their leases are no older. */
  beat: count,
  jobs: z.array(claimedJob),
});

/** Answers `settle`, outcomes in its order. Comes before the `assign` that answers its want. */
export const settled = z.object({ type: z.literal('settled'), re, outcomes: z.array(settleOutcome) });

/** Answers `beat`. */
export const beatAck = z.object({
  type: z.literal('beat-ack'),
  re,
  /** All that this incarnation holds, renewed. What is not in it is lost. */
  held: z.array(heldLease),
  adminState,
  recycleAsked: z.boolean(),
  paused: z.array(text),
  nowMs: z.number(),
});

/** What operators want, as soon as it changes. */
export const orders = z.object({
  type: z.literal('orders'),
  adminState,
  recycleAsked: z.boolean(),
  paused: z.array(text),
});

/** Operators want these running jobs ended. */
export const stop = z.object({ type: z.literal('stop'), leases: z.array(heldLease) });

/** Answers `started`: whose lease was lost before. */
export const startedAck = z.object({ type: z.literal('started-ack'), re, lost: z.array(jobId) });

export const dispatched = z.object({ type: z.literal('dispatched'), re, outcomes: z.array(enqueueOutcome) });

export const profiles = z.object({ type: z.literal('profiles'), re, profiles: z.array(handlerProfile) });

export const seen = z.object({
  type: z.literal('seen'),
  re,
  dueInMs: z.number().nonnegative().nullable(),
  aloneDue: z.boolean(),
});

export const queues = z.object({ type: z.literal('queues'), re, queues: z.array(text) });

export const turnAnswer = z.object({ type: z.literal('turn-answer'), re, granted: z.boolean() });

export const backlog = z.object({ type: z.literal('backlog'), re, claimable: count });

/** Answers what a worker says of a file that it puts. */
export const fileAck = z.object({
  type: z.literal('file-ack'),
  re,
  /** Bytes of it that are there. */
  held: count,
  /** Once it is listed. */
  file: fileRecord.nullable(),
});

export const files = z.object({ type: z.literal('files'), re, files: z.array(fileRecord) });

/** Base64; shorter than asked for only at the end of the file. */
export const fileBytes = z.object({ type: z.literal('file-bytes'), re, data: text });

/** A job that must run alone is due: the worker makes room and asks for it by a want with `alone`. */
export const lone = z.object({ type: z.literal('lone') });

export const goodbyeAck = z.object({ type: z.literal('goodbye-ack'), re });

/** The message could not be done; nothing else is harmed. `retryable`: the same again may do. */
export const failed = z.object({
  type: z.literal('failed'),
  /** Null: it could not even be read. */
  re: re.nullable(),
  code: text,
  message: text,
  retryable: z.boolean(),
});

export const hubMessage = z.discriminatedUnion('type', [
  welcome,
  assign,
  settled,
  beatAck,
  orders,
  stop,
  startedAck,
  dispatched,
  profiles,
  seen,
  queues,
  turnAnswer,
  backlog,
  fileAck,
  files,
  fileBytes,
  lone,
  goodbyeAck,
  failed,
]);

export type HubMessage = z.infer<typeof hubMessage>;
export type WelcomeMessage = z.infer<typeof welcome>;
export type AssignMessage = z.infer<typeof assign>;
export type LeaseShape = z.infer<typeof lease>;
