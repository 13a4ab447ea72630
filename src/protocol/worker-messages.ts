/** Messages of a worker to its hub. Those with an `id` are answered by one with `re`; see PROTOCOL.md for each. */
import { z } from 'zod';
import {
  fileUpload,
  incarnation,
  jobId,
  laneKindName,
  lease,
  logLine,
  newJob,
  profileNote,
  settlement,
  storableText,
  take,
  want,
} from './job-shapes.js';
import { filePieceText, mostRows } from './link-terms.js';

const text = storableText;
const count = z.number().int().nonnegative();
/** Rises within a connection. */
const id = z.number().int().positive();

const lane = z.object({
  kind: laneKindName,
  number: count,
  state: text,
  width: count,
  running: count,
  jobs: z.array(z.object({ id: text, name: text, attempt: count, startedAtMs: z.number() })).max(10),
  pid: count.nullable(),
  restarts: count,
  jobsDone: count,
  rssBytes: count.nullable(),
  note: text.nullable(),
});

/** The changing part of what a worker says of itself. */
export const workerStatus = z.object({
  state: text,
  transitions: z.array(z.object({ state: text, atMs: z.number(), reason: text })).max(10),
  drain: z.object({ reason: text, owner: text, deadlineAtMs: z.number().nullable() }).nullable(),
  running: count,
  lanes: z.array(lane),
  jobsDone: count,
  usage: z.object({
    cpu: z.number(),
    rssBytes: count,
    heapBytes: count,
    loopLagMs: z.number(),
    disk: z.object({ freeBytes: z.number(), totalBytes: z.number() }).nullable(),
  }),
  details: z.record(text, z.unknown()),
});

/** The first message of a connection. */
export const hello = z.object({
  type: z.literal('hello'),
  id,
  /** Of the worker role; left out where the hub knows none. Never in the address. */
  token: z.string().max(200).optional(),
  /** New at each boot of the worker, the same at each reconnect. */
  incarnation,
  /** An earlier incarnation of this worker id that has ended for sure: its leases are taken back now. */
  ended: incarnation.nullable(),
  host: text,
  pid: count,
  version: text,
  queues: z.array(text),
  handlers: z.array(z.object({ name: text, lane: laneKindName })),
  labels: z.array(text),
  concurrency: count,
  restarts: count,
  /** All that it runs, keeps for starting, or has a result of that is not acknowledged. */
  held: z.array(lease),
  status: workerStatus,
});

/** Results, each resent until it is answered; with the next want, where there is one, so that storage is asked once. */
export const settle = z.object({
  type: z.literal('settle'),
  id,
  settlements: z.array(settlement).max(mostRows),
  want: want.nullable(),
});

/** Heartbeat: renews every lease of this incarnation, and tells how it is. */
export const beat = z.object({ type: z.literal('beat'), id, status: workerStatus });

/** Jobs that started out of the buffer, so that a death of the worker counts for them. */
export const started = z.object({ type: z.literal('started'), id, leases: z.array(lease).max(mostRows) });

/** Lines that handlers wrote. Not answered; may be lost. */
export const log = z.object({ type: z.literal('log'), lines: z.array(logLine).max(mostRows) });

/** Jobs that a handler dispatches. */
export const dispatch = z.object({ type: z.literal('dispatch'), id, jobs: z.array(newJob).max(mostRows) });

/** What the attempts of these handlers took of late. */
export const askProfiles = z.object({
  type: z.literal('ask-profiles'),
  id,
  names: z.array(text),
  windowMs: z.number().positive(),
});

/** What attempts took. Not answered; may be lost. */
export const profileNotes = z.object({
  type: z.literal('profile-notes'),
  notes: z.array(profileNote).max(mostRows),
});

/** Whether something is due that these takes could get. */
export const look = z.object({ type: z.literal('look'), id, takes: z.array(take).max(16) });

/** Which queues there are. */
export const askQueues = z.object({ type: z.literal('ask-queues'), id });

/** May it go away to be replaced? Asked again until granted; unanswered for 60 s it goes. `false`: it gives the turn back. */
export const turn = z.object({ type: z.literal('turn'), id, wanted: z.boolean() });

/** Backlog of these queues, for a pool that sizes itself; none: of all but `except`. */
export const askBacklog = z.object({
  type: z.literal('ask-backlog'),
  id,
  queues: z.array(text).nullable(),
  except: z.array(text),
});

/** A file comes, or goes on after a connection was lost: answered with how many bytes of it are there. */
export const fileBegin = z.object({ type: z.literal('file-begin'), id, file: fileUpload });

/** Bytes of it, as base64, from `offset`; what is there already is passed over. */
export const filePiece = z.object({
  type: z.literal('file-piece'),
  id,
  file: fileUpload,
  offset: count,
  data: z.string().max(filePieceText),
});

/** It is whole: the answer brings it as it is listed. */
export const fileEnd = z.object({ type: z.literal('file-end'), id, file: fileUpload, sizeBytes: count });

/** It will not go on. */
export const fileDrop = z.object({ type: z.literal('file-drop'), id, file: fileUpload });

/** The files of a job, or the one of this id. */
export const askFiles = z.object({
  type: z.literal('ask-files'),
  id,
  job: jobId.nullable(),
  file: jobId.nullable(),
});

/** At most 256 KB of a file, from `offset`. */
export const fileRead = z.object({ type: z.literal('file-read'), id, file: jobId, offset: count });

/** It ends; its last numbers. The hub closes with 1000 once it has answered. */
export const goodbye = z.object({ type: z.literal('goodbye'), id, status: workerStatus });

export const workerMessage = z.discriminatedUnion('type', [
  hello,
  settle,
  beat,
  started,
  log,
  dispatch,
  askProfiles,
  profileNotes,
  look,
  askQueues,
  turn,
  askBacklog,
  fileBegin,
  filePiece,
  fileEnd,
  fileDrop,
  askFiles,
  fileRead,
  goodbye,
]);

export type WorkerMessage = z.infer<typeof workerMessage>;
export type HelloMessage = z.infer<typeof hello>;
export type WantShape = z.infer<typeof want>;
export type WorkerStatusShape = z.infer<typeof workerStatus>;
