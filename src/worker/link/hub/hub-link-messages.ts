/**
 * What crosses between the main loop and the end of the connection to a hub, which lives in the link thread: plain data
 * only. Where no thread can be, the same messages are handed over on the main loop.
 */
import type { DeepReadonly } from '../../../internal/deep-readonly.js';
import type { LogFields } from '../../../internal/logger.js';
import type { HubMessage } from '../../../protocol/hub-messages.js';
import type { WorkerMessage } from '../../../protocol/worker-messages.js';
import type { ClaimedJob, HeldLease, Lease } from '../../../storage/claimed-job.js';
import type { AdminState } from '../../../storage/worker-record.js';
import type { LinkSnapshot, WorkerStatus } from '../link.js';
import type { WatchSettings } from '../link-messages.js';

/** A message without what the connection adds to it. */
export type Body<Message> = Message extends unknown ? DeepReadonly<Omit<Message, 'id'>> : never;

/** Answered by the hub. A `beat` gets its status from the connection's end. */
export type HubRequest =
  | Body<Exclude<WorkerMessage, { type: 'hello' | 'goodbye' | 'beat' | 'log' | 'profile-notes' }>>
  | { readonly type: 'beat' };

/** Not answered, and dropped when the connection is slow or away. */
export type HubTelling = Body<Extract<WorkerMessage, { type: 'log' | 'profile-notes' }>>;

/** What never changes in the hello of an incarnation. */
export type HelloFacts = Pick<
  Body<Extract<WorkerMessage, { type: 'hello' }>>,
  | 'incarnation'
  | 'ended'
  | 'host'
  | 'pid'
  | 'version'
  | 'queues'
  | 'handlers'
  | 'labels'
  | 'concurrency'
  | 'restarts'
>;

/** Given to the end of the connection at its birth. */
export interface HubLinkData {
  readonly urls: readonly string[];
  /** Empty: none. */
  readonly token: string;
  /** The id that is wanted. */
  readonly workerId: string;
  readonly facts: HelloFacts;
  /** The hub may ask for a shorter interval, in its welcome. */
  readonly heartbeatMs: number;
}

export interface HubThreadData extends HubLinkData {
  readonly watch: WatchSettings;
}

export type HubDownMessage =
  | { readonly type: 'report'; readonly status: WorkerStatus; readonly held: readonly Lease[] }
  | { readonly type: 'held'; readonly ask: number; readonly leases: readonly Lease[] }
  | {
      readonly type: 'request';
      readonly key: number;
      readonly body: HubRequest;
      /** The last one that main knew of: what it says of its room is true of that one. */
      readonly connection: number;
    }
  | { readonly type: 'tell'; readonly body: HubTelling }
  | { readonly type: 'stop'; readonly deadlineMs: number };

export interface HubOrders {
  readonly adminState: AdminState;
  readonly recycleAsked: boolean;
  readonly paused: readonly string[];
}

/** A connection was welcomed. */
export interface HubOpening extends HubOrders {
  /** Counts the connections of this worker, from 1. */
  readonly connection: number;
  readonly url: string;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly maxFrameBytes: number;
  /** What storage says is held, of what was named at `askedAtMs` (monotonic). */
  readonly held: readonly HeldLease[];
  readonly askedAtMs: number;
}

/** A connection ended, or could not be made. */
export interface HubLoss {
  readonly text: string;
  /** Until the next try. */
  readonly waitMs: number;
  /** What a person must do, where waiting cures nothing. */
  readonly fix: string | null;
}

export interface HubAssignment {
  /** Of the request that it answers, or null. */
  readonly key: number | null;
  readonly connection: number;
  readonly assign: number;
  readonly jobs: readonly ClaimedJob[];
  /** The leases are no older; monotonic ms. */
  readonly askedAtMs: number;
}

export type HubUpMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'open'; readonly opening: HubOpening }
  | { readonly type: 'lost'; readonly loss: HubLoss }
  /** A newer connection of this incarnation is another process's: this one is over. */
  | { readonly type: 'superseded' }
  | { readonly type: 'answer'; readonly key: number; readonly message: HubMessage }
  | {
      readonly type: 'refused';
      readonly key: number;
      readonly code: string;
      readonly message: string;
      readonly retryable: boolean;
    }
  | { readonly type: 'assign'; readonly assignment: HubAssignment }
  | { readonly type: 'snapshot'; readonly snapshot: LinkSnapshot }
  | { readonly type: 'orders'; readonly orders: HubOrders }
  | { readonly type: 'stop-asked'; readonly leases: readonly HeldLease[] }
  | { readonly type: 'lone' }
  | { readonly type: 'clock-skew'; readonly skewMs: number }
  | { readonly type: 'ask-held'; readonly ask: number }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly type: 'stopped' };
