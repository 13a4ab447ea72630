/**
 * The shapes of the link and the types of the storage seam agree, checked by the compiler alone: what the seam has can be
 * sent, and what was read off the link can be handed to the seam.
 */
import type { z } from 'zod';
import type { orders } from '../../src/protocol/hub-messages.js';
import type * as shapes from '../../src/protocol/job-shapes.js';
import type { workerStatus } from '../../src/protocol/worker-messages.js';
import type { ClaimedJob, HeldLease, Lease, Take } from '../../src/storage/claimed-job.js';
import type { HandlerProfile, ProfileNote } from '../../src/storage/handler-profile.js';
import type { NewLogLine } from '../../src/storage/job-log.js';
import type { EnqueueOutcome, NewJob } from '../../src/storage/new-job.js';
import type { Settlement, SettleOutcome } from '../../src/storage/settlement.js';
import type { WorkerOrders, WorkerReport } from '../../src/storage/worker-record.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** As plain data: without `readonly`, and intersections spelt out. Distributes over unions. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Plain<T[Key]> }
    : T;

type Agrees<Shape extends z.ZodType, Type> = Equal<Plain<z.infer<Shape>>, Plain<Type>>;

const agrees = <_Check extends true>(): void => undefined;

agrees<Agrees<typeof shapes.lease, Lease>>();
agrees<Agrees<typeof shapes.heldLease, HeldLease>>();
agrees<Agrees<typeof shapes.claimedJob, ClaimedJob>>();
agrees<Agrees<typeof shapes.settlement, Settlement>>();
agrees<Agrees<typeof shapes.settleOutcome, SettleOutcome>>();
agrees<Agrees<typeof shapes.newJob, NewJob>>();
agrees<Agrees<typeof shapes.logLine, NewLogLine>>();
agrees<Agrees<typeof shapes.profileNote, ProfileNote>>();
agrees<Agrees<typeof shapes.handlerProfile, HandlerProfile>>();
agrees<Agrees<typeof shapes.take, Take>>();

/** One object with the outcomes as its word, where the seam has one object for each of them. */
type Flat<Outcome extends { readonly outcome: string; readonly id: string }> = Pick<
  Outcome,
  'outcome' | 'id'
>;
agrees<Agrees<typeof shapes.enqueueOutcome, Flat<EnqueueOutcome>>>();

/** What changes of a report; the rest stands in the hello. */
type Status = Pick<
  WorkerReport,
  'state' | 'transitions' | 'drain' | 'running' | 'lanes' | 'jobsDone' | 'usage' | 'details'
>;
agrees<Agrees<typeof workerStatus, Status>>();

agrees<Equal<Plain<Omit<z.infer<typeof orders>, 'type'>>, Plain<WorkerOrders>>>();

// It does tell a difference.
// @ts-expect-error a field less
agrees<Agrees<typeof shapes.lease, HeldLease>>();
