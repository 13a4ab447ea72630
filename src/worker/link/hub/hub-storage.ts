/**
 * Storage as a worker sees it over a hub: what it needs of the seam, as messages. What the hub refuses or can't be asked
 * now rejects as an engine would, so that the exchange loop repeats it in the same way.
 *
 * A claim is a want, and answered at once; what is left of it stands, and what comes of that comes by the door of
 * `standing`. The token of a claim is not sent, since the hub makes its own; here it tells a repeated claim from a fresh
 * one: the room of a repeat is as old as its first try.
 */
import { MillraceError } from '../../../internal/errors.js';
import { maxFrameBytes, mostRows } from '../../../protocol/link-terms.js';
import type {
  ClaimedJob,
  ClaimRequest,
  HeldLease,
  Lease,
  PeekRequest,
} from '../../../storage/claimed-job.js';
import type { HandlerProfile, ProfileNote } from '../../../storage/handler-profile.js';
import type { NewLogLine } from '../../../storage/job-log.js';
import type { EnqueueOutcome, NewJob } from '../../../storage/new-job.js';
import type { Settlement, SettleOutcome } from '../../../storage/settlement.js';
import type { StandingRoom, WorkerStorage } from '../../../storage/worker-storage.js';
import type { Exchanged, HubClient, RoomMark } from './hub-client.js';
import type { HubRequest } from './hub-link-messages.js';
import { splitBatches } from './split-batches.js';

/** Room is left for what stands around the items. */
const batchLimits = { mostBytes: maxFrameBytes - 128 * 1024, mostItems: mostRows };

export class HubStorage implements WorkerStorage {
  readonly capabilities = { shared: true, push: true } as const;
  readonly standing: StandingRoom;
  readonly #client: HubClient;
  #claim: { readonly token: string; readonly mark: RoomMark } | null = null;

  constructor(client: HubClient, standing: StandingRoom) {
    this.#client = client;
    this.standing = standing;
  }

  async enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const outcomes: EnqueueOutcome[] = [];
    for (const batch of splitBatches(jobs, batchLimits, ({ payload, tags }) => [payload, tags.join()])) {
      const body: HubRequest = { type: 'dispatch', jobs: batch };
      outcomes.push(...((await this.#client.request(body, 'dispatched')).outcomes as EnqueueOutcome[]));
    }
    return outcomes;
  }

  async claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return (await this.exchange([], request)).claimed;
  }

  async settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return (await this.#exchange(settlements, null)).settled;
  }

  exchange(settlements: readonly Settlement[], request: ClaimRequest): Promise<Exchanged> {
    const mark = this.#markOf(request.token);
    const takes = request.takes.map(({ queues, names, limit, start }) => ({
      ...{ queues: [...queues], names: [...names], limit, start },
    }));
    return this.#exchange(settlements, { want: { takes, alone: request.alone }, mark });
  }

  /** On another connection nothing was assigned that the room did not know of: all of it counts. */
  #markOf(token: string): RoomMark {
    const { mark } = this.#client;
    if (this.#claim?.token !== token) this.#claim = { token, mark };
    else if (this.#claim.mark.connection !== mark.connection)
      this.#claim = { token, mark: { connection: mark.connection, after: 0 } };
    return this.#claim.mark;
  }

  async #exchange(
    settlements: readonly Settlement[],
    room: Parameters<HubClient['exchange']>[1],
  ): Promise<Exchanged> {
    const batches = splitBatches(settlements, batchLimits, textsOf);
    const settled: SettleOutcome[] = [];
    for (const batch of batches.slice(0, -1))
      settled.push(...(await this.#client.exchange(batch, null)).settled);
    const last = await this.#client.exchange(batches.at(-1) ?? [], room);
    return { settled: [...settled, ...last.settled], claimed: last.claimed };
  }

  async markStarted(leases: readonly Lease[]): Promise<string[]> {
    return (await this.#client.request({ type: 'started', leases: [...leases] }, 'started-ack')).lost;
  }

  /** By a heartbeat, which renews all. */
  async renew(): Promise<HeldLease[]> {
    return (await this.#client.request({ type: 'beat' }, 'beat-ack')).held;
  }

  async peek({ takes }: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    const body: HubRequest = { type: 'look', takes };
    const { dueInMs, aloneDue } = await this.#client.request(body, 'seen');
    return { dueInMs, aloneDue };
  }

  async queues(): Promise<string[]> {
    return (await this.#client.request({ type: 'ask-queues' }, 'queues')).queues;
  }

  /** Never waits and never fails: lines are the first that is dropped. */
  appendLog(lines: readonly NewLogLine[]): Promise<void> {
    for (const batch of splitBatches(lines, batchLimits, ({ text }) => [text]))
      this.#client.tell({ type: 'log', lines: batch });
    return Promise.resolve();
  }

  noteProfiles(notes: readonly ProfileNote[]): Promise<void> {
    this.#client.tell({ type: 'profile-notes', notes });
    return Promise.resolve();
  }

  async profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    const body: HubRequest = { type: 'ask-profiles', names: [...names], windowMs };
    return (await this.#client.request(body, 'profiles')).profiles;
  }

  within(): never {
    throw needsDatabase('settleIn, and dispatch with "tx"');
  }

  withinSync(): never {
    throw needsDatabase('settleInSync');
  }

  /** Nobody can have settled within a transaction here. */
  endings(): Promise<never> {
    return Promise.reject(needsDatabase('reading what became of a job'));
  }

  /** Work is pushed; there is nothing to be woken for. */
  watch(): Promise<AsyncDisposable> {
    return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() });
  }
}

function needsDatabase(what: string): MillraceError {
  return new MillraceError(
    'needs-database',
    `${what}: this worker has no database, it works behind a hub. Run the job on a worker with a database, or return the value and dispatch by the context`,
  );
}

function textsOf(settlement: Settlement): readonly (string | null)[] {
  switch (settlement.kind) {
    case 'completed':
      return [settlement.result];
    case 'retry':
    case 'buried':
    case 'died':
      return [settlement.errors];
    case 'cancelled':
    case 'put-back':
      return [settlement.reason];
    case 'snoozed':
      return [];
  }
}
