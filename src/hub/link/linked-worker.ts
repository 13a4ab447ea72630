/**
 * A worker that was welcomed: what it holds, what room it has, and the claims that are made for it.
 *
 * Everything that claims goes through one turnstile, so that of two claims the second knows what the first brought: results
 * with their want (`settle`), and pushes into room that stood (`claimStanding`). A claim whose answer was lost is repeated
 * under its token before another is made. What was claimed for a connection that has meanwhile ended is put back here and
 * now, since nobody was told of it; what was sent, and perhaps never arrived, is compared at the next hello.
 */

import type { ClaimedJob, ClaimRequest, Take } from '../../storage/claimed-job.js';
import { incarnationOf } from '../../storage/claimed-job.js';
import type { Settlement, SettleOutcome } from '../../storage/settlement.js';
import type { Storage } from '../../storage/storage.js';
import type { AdminState, WorkerReport } from '../../storage/worker-record.js';
import type { HubContext } from '../hub-context.js';
import { assignOf, framesOf } from './assign-frames.js';
import type { Channel } from './channel.js';
import { ClaimTokens } from './claim-tokens.js';
import { Inventory } from './inventory.js';
import { putBack } from './put-back.js';
import { Room } from './room.js';
import { Turnstile } from './turnstile.js';

/** What operators want, as it was last told. */
export interface Orders {
  readonly adminState: AdminState;
  readonly recycleAsked: boolean;
  readonly paused: readonly string[];
}

export interface LinkedWorkerParts {
  readonly context: HubContext;
  readonly storage: Storage;
  readonly channel: Channel;
  readonly report: WorkerReport;
  readonly epoch: number;
  readonly orders: Orders;
  /** `id` of the hello. */
  readonly helloId: number;
}

/** What a claim brought, and how old it may be. */
interface Claimed {
  readonly jobs: readonly ClaimedJob[];
  /** `id` of the heartbeat that had been heard when the claim was first made. */
  readonly beat: number;
  /** Its first answer was lost: it may be older than the want that it answers now. */
  readonly isRepeat: boolean;
}

const connectionGone = 'assigned to a connection that was gone';

export class LinkedWorker {
  readonly room = new Room();
  readonly inventory = new Inventory();
  readonly channel: Channel;
  readonly storage: Storage;
  readonly #context: HubContext;
  readonly #turnstile = new Turnstile();
  readonly #tokens: ClaimTokens;
  /** `id` of the heartbeat that had been heard when the claim under the present token was first made; null: none was. */
  #firstBeat: number | null = null;
  /** What it last said of itself. */
  report: WorkerReport;
  epoch: number;
  orders: Orders;
  /** `id` of the last `beat` or `hello`. */
  lastBeat: number;
  hasSaidGoodbye = false;
  /** To go away and be replaced. */
  hasTurn = false;
  /** Batches of log lines on their way to storage. */
  keepingLines = 0;

  constructor(parts: LinkedWorkerParts) {
    this.#context = parts.context;
    this.storage = parts.storage;
    this.channel = parts.channel;
    this.report = parts.report;
    this.epoch = parts.epoch;
    this.orders = parts.orders;
    this.lastBeat = parts.helloId;
    this.#tokens = new ClaimTokens(parts.report.incarnation, parts.epoch);
  }

  get id(): string {
    return this.report.id;
  }

  get incarnation(): string {
    return this.report.incarnation;
  }

  /** A claim is being made, or waits to be. */
  get isClaiming(): boolean {
    return this.#turnstile.size > 0;
  }

  /** Whether jobs may be claimed for it now, room aside. */
  get mayTake(): boolean {
    return this.channel.isWritable && !this.hasSaidGoodbye && this.orders.adminState !== 'drain';
  }

  /** Resolves once nothing is claimed for it any more. */
  idle(): Promise<void> {
    return this.#turnstile.idle();
  }

  /** Settles, claims what the room allows where `mayClaim`, and answers both. Rejects as storage does, having answered nothing. */
  settle(
    re: number,
    settlements: readonly Settlement[],
    { isWanting, mayClaim }: { readonly isWanting: boolean; readonly mayClaim: boolean },
  ): Promise<void> {
    return this.#turnstile.run(async () => {
      const open = isWanting && mayClaim && this.mayTake ? this.room.open : null;
      const request = open === null || open.takes.length === 0 ? null : this.#request(open.takes, open.alone);
      const { settled, claimed } = await this.#exchange(settlements, request);
      this.channel.send({ type: 'settled', re, outcomes: settled });
      if (isWanting) await this.#give(claimed, re);
    });
  }

  /** Claims `most` jobs for room that stands; null: it has no such room (any more). Rejects as storage does. */
  claimStanding(choose: (worker: LinkedWorker) => Take | null, alone: boolean): Promise<number | null> {
    return this.#turnstile.run(async () => {
      const take = this.mayTake ? choose(this) : null;
      if (take === null) return null;
      const { metrics } = this.#context;
      metrics.placements += 1;
      const { claimed } = await this.#exchange([], this.#request([take], alone));
      if (claimed.jobs.length === 0) metrics.emptyPlacements += 1;
      else await this.#give(claimed, null);
      metrics.pushedJobs += claimed.jobs.length;
      return claimed.jobs.length;
    });
  }

  async #exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest | null,
  ): Promise<{ settled: SettleOutcome[]; claimed: Claimed }> {
    const { metrics } = this.#context;
    const own = settlements.filter(({ token }) => incarnationOf(token) === this.incarnation);
    const startedAtMs = performance.now();
    const answer = await this.#ask(own, request);
    const tookMs = performance.now() - startedAtMs;
    if (request !== null) metrics.claimMs.note(tookMs);
    if (own.length > 0) metrics.settleMs.note(tookMs);
    this.#noteSettled(own, answer.settled);
    const outcomes = new Map(own.map((settlement, index) => [settlement, answer.settled[index]]));
    return { settled: settlements.map((one) => outcomes.get(one) ?? 'lease-lost'), claimed: answer.claimed };
  }

  async #ask(
    settlements: readonly Settlement[],
    request: ClaimRequest | null,
  ): Promise<{ settled: SettleOutcome[]; claimed: Claimed }> {
    const { storage } = this;
    if (request === null) {
      const none: Claimed = { jobs: [], beat: this.lastBeat, isRepeat: false };
      return { settled: settlements.length === 0 ? [] : await storage.settle(settlements), claimed: none };
    }
    const isRepeat = this.#firstBeat !== null;
    const beat = this.#firstBeat ?? this.lastBeat;
    this.#firstBeat = beat;
    const answer =
      settlements.length === 0
        ? { settled: [], claimed: await storage.claim(request) }
        : await storage.exchange(settlements, request);
    this.#tokens.useUp();
    this.#firstBeat = null;
    return { settled: answer.settled, claimed: { jobs: answer.claimed, beat, isRepeat } };
  }

  #request(takes: readonly Take[], alone: boolean): ClaimRequest {
    const { leaseMs, budgets } = this.#context.settings;
    const { id: workerId, labels } = this.report;
    return { token: this.#tokens.current, workerId, leaseMs, takes, labels, budgets, alone };
  }

  #noteSettled(settlements: readonly Settlement[], outcomes: readonly SettleOutcome[]): void {
    const { metrics } = this.#context;
    this.inventory.remove(settlements);
    settlements.forEach((settlement, index) => {
      if (outcomes[index] !== 'done') metrics.lostLeases += 1;
      else if (settlement.kind === 'put-back') metrics.putBacks.add(settlement.reason);
      else metrics.settledJobs += 1;
    });
  }

  /** Sends what was claimed, with the answer that is due even where it is nothing. */
  async #give({ jobs, beat, isRepeat }: Claimed, re: number | null): Promise<void> {
    if (!this.channel.isOpen) {
      if (jobs.length > 0) await putBack(this.#context, this.storage, jobs, connectionGone);
      return;
    }
    this.inventory.add(jobs);
    this.#context.metrics.assignedJobs += jobs.length;
    const parts = framesOf(jobs);
    // A worker takes leases that answer its want for as young as that; these may be older.
    if (parts.length === 0 || (isRepeat && re !== null)) parts.push([]);
    const answering = isRepeat ? parts.length - 1 : 0;
    parts.forEach((part, index) => {
      const assign = this.room.give(part);
      this.channel.send(assignOf(part, { assign, re: index === answering ? re : null, beat }));
    });
  }
}
