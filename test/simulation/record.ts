/**
 * What happened in a world, as storage saw it: every call that was committed goes through here, and what must never happen
 * is noticed when it does. At the end it judges the whole.
 */
import type { ClaimedJob, ClaimRequest } from '../../src/storage/claimed-job.js';
import type { Settlement, SettleOutcome, TakeBack, TakeBackOutcome } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import { checkHistory, type HistoryEvent, type Verdict } from '../support/history.js';
import type { SimNode, SimTime } from './sim-time.js';

interface SimLease {
  readonly token: string;
  readonly node: SimNode;
  readonly name: string;
  readonly group: string | null;
  readonly max: number;
  untilMs: number;
}

/** The job whose handler ignores its signal. */
export const stubbornName = 'stubborn';

/** Of a lease that is over: the clocks of storage and of this record may differ by a rounded ms. */
const slackMs = 2;

export class Record {
  readonly events: HistoryEvent[] = [];
  readonly violations: string[] = [];
  /** Ids that storage has taken. */
  readonly jobs = new Set<string>();
  /** What a node was given last, by job. */
  readonly tokens = new Map<SimNode, Map<string, string>>();
  readonly counts = new Map<string, number>();
  trace: ((line: string) => void) | null = null;
  readonly #time: SimTime;
  readonly #leases = new Map<string, SimLease>();
  readonly #settled = new Set<string>();
  readonly #numbers = new Map<string, number>();
  readonly #charged = new Map<string, Set<string>>();

  constructor(time: SimTime) {
    this.#time = time;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  note(event: Omit<HistoryEvent, 'at'>): void {
    this.events.push({ at: this.#time.nowMs, ...event });
    this.say(`${event.kind} ${this.#nameOf(event.jobId)} ${event.worker ?? ''} ${event.verdict ?? ''}`);
  }

  /** Its number: ids differ from run to run. */
  #nameOf(id = ''): string {
    const known = this.#numbers.get(id) ?? this.#numbers.size + 1;
    this.#numbers.set(id, known);
    return `#${known}`;
  }

  say(line: string): void {
    this.trace?.(`${this.#time.nowMs.toFixed(1).padStart(9)} ${line}`);
  }

  violate(text: string): void {
    this.violations.push(`at ${Math.round(this.#time.nowMs)} ms: ${text}`);
    this.say(`VIOLATION ${text}`);
  }

  enqueued(ids: readonly string[]): void {
    for (const id of ids) {
      if (!this.jobs.has(id)) this.note({ kind: 'enqueued', jobId: id });
      this.jobs.add(id);
    }
  }

  claimed(node: SimNode, request: ClaimRequest, jobs: readonly ClaimedJob[]): void {
    const tokens = this.tokens.get(node) ?? new Map<string, string>();
    this.tokens.set(node, tokens);
    for (const { id, name, token, limit } of jobs) {
      tokens.set(id, token);
      const group = limit === null ? null : `${limit.group}/${limit.key ?? ''}`;
      const untilMs = this.#time.nowMs + request.leaseMs;
      this.#leases.set(id, {
        token,
        node,
        name,
        group,
        max: limit?.max ?? Number.POSITIVE_INFINITY,
        untilMs,
      });
      if (group !== null) this.#judgeLimit(group);
      this.say(`claimed ${this.#nameOf(id)} ${node.name}`);
    }
  }

  renewed(incarnation: string, leaseMs: number): void {
    for (const lease of this.#leases.values())
      if (lease.token.startsWith(incarnation)) lease.untilMs = this.#time.nowMs + leaseMs;
  }

  settled(node: SimNode, settlements: readonly Settlement[], outcomes: readonly SettleOutcome[]): void {
    settlements.forEach((settlement, index) => {
      const { id, token, kind } = settlement;
      const worker = node.name;
      if (outcomes[index] !== 'done') {
        this.note({ kind: 'refused', jobId: id, token, worker });
        return;
      }
      const lease = this.#leases.get(id);
      // A repeat of what was committed before is answered alike, and is one settlement.
      if (this.#settled.has(`${id} ${token}`)) return;
      this.#settled.add(`${id} ${token}`);
      if (lease?.token !== token) {
        this.violate(`a late settlement of job ${id} by ${worker} was accepted: ${kind}`);
        return;
      }
      this.#leases.delete(id);
      this.note({ kind: 'settled', jobId: id, token, worker, verdict: kind satisfies Verdict });
      // A handler that ignores its signal goes on for nothing once its attempt was settled without it.
      if (lease.name === stubbornName && kind !== 'completed')
        this.note({ kind: 'lease-lost', jobId: id, token, worker });
      if (kind === 'retry' || (kind === 'buried' && settlement.reason !== 'poison')) this.#charge(id, token);
    });
  }

  takenBack(decisions: readonly TakeBack[], outcomes: readonly TakeBackOutcome[]): void {
    decisions.forEach(({ id, token, kind }, index) => {
      if (outcomes[index] !== 'done') return;
      const lease = this.#leases.get(id);
      if (lease === undefined || lease.token !== token) return;
      this.count(`taken back: ${kind}`);
      const leftMs = lease.untilMs - this.#time.nowMs;
      if (leftMs > slackMs)
        this.violate(
          `job ${id} was taken from ${lease.node.name}, whose lease had ${Math.round(leftMs)} ms left`,
        );
      this.#leases.delete(id);
      this.note({ kind: 'lease-lost', jobId: id, token, worker: lease.node.name });
    });
  }

  /** An operator's retry of a job that was final gives it fresh attempts. */
  retried(id: string): void {
    this.#charged.delete(id);
  }

  #charge(id: string, token: string): void {
    const tokens = this.#charged.get(id) ?? new Set<string>();
    tokens.add(token);
    this.#charged.set(id, tokens);
  }

  #judgeLimit(group: string): void {
    const running = [...this.#leases.values()].filter((lease) => lease.group === group);
    const max = Math.min(...running.map((lease) => lease.max));
    if (running.length > max) this.violate(`${running.length} of group ${group} run, its limit is ${max}`);
  }

  /** Once the world has come to rest. */
  async judge(storage: Storage): Promise<void> {
    for (const id of this.jobs) {
      const job = await storage.job(id);
      if (job === null) continue;
      if (!['completed', 'buried', 'cancelled'].includes(job.status))
        this.violate(
          `job ${id} (${job.name}, queue ${job.queue}) is still ${job.status}, held by ${job.workerId ?? 'nobody'}, ${job.started ? 'started' : 'not started'}: ${job.reason ?? ''} ${this.#nameOf(id)}`,
        );
      const charged = this.#charged.get(id)?.size ?? 0;
      if (job.attempts !== charged)
        this.violate(`job ${id} (${job.name}) counts ${job.attempts} attempts, ${charged} were charged`);
    }
    for (const { rule, jobId, details } of checkHistory(this.events, { allEnded: false }))
      this.violate(`${rule}: job ${jobId}, ${details}`);
  }
}
