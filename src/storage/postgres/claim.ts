import type { ClaimedJob, ClaimRequest, HeldLease, Lease, PeekRequest } from '../claimed-job.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { BoundedClaims, type Road } from './bounded-claim.js';
import { namesOf } from './claim-facts.js';
import { fetchHeld, inTakeOrder, unpack } from './claimed-jobs.js';
import { aloneLine, stopOf } from './codes.js';
import type { Context } from './context.js';
import { inIdOrder } from './id-order.js';
import { type ClaimQueries, claimQueries } from './queries/claim.js';
import { type ClaimManyQueries, claimManyQueries } from './queries/claim-many.js';
import { intOf, intOrNull, type Row, type Statement, textOf } from './statement.js';

/** One claim may find its candidates taken under its hands so often before it answers with none. */
const contendedTries = 5;

export class Claims {
  readonly #context: Context;
  readonly queries: ClaimQueries;
  readonly #many: ClaimManyQueries;
  readonly bounded: BoundedClaims;

  constructor(context: Context) {
    this.#context = context;
    this.queries = claimQueries(context.schema);
    this.#many = claimManyQueries(context.schema);
    this.bounded = new BoundedClaims(context, this.queries);
  }

  /** Of ordinary jobs alone it is one statement, which also tells whether any others wait. */
  async claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return this.claimBy(await this.bounded.roadOf(request), request);
  }

  async claimBy(road: Road, request: ClaimRequest): Promise<ClaimedJob[]> {
    if (road === 'bounded') return this.bounded.claim(request);
    const row = await this.#claimOrdinary(request, road === 'plain');
    return this.finish(road, request, row);
  }

  /** From the answer of an ordinary claim to that of the whole. */
  async finish(road: Road, request: ClaimRequest, row: Row | undefined): Promise<ClaimedJob[]> {
    const isRefused = row?.[4] === 't';
    const jobs = await this.#answer(request, row);
    if (jobs.length > 0 && intOf(row?.[2]) === 0) return jobs;
    if (isRefused) return this.claimBy(await this.#seen(request), request);
    if (road === 'ask' || !isShort(request, jobs)) return jobs;
    // Before it answers with less than was asked for it looks once more whether bounded jobs have room by now.
    this.bounded.forget();
    return (await this.#seen(request)) === 'bounded' ? this.bounded.claim(request, jobs) : jobs;
  }

  /** After a look: what can't run is passed over, so that no answer is refused twice. */
  async #seen(request: ClaimRequest): Promise<Road> {
    return (await this.bounded.look(request)) === 'bounded' ? 'bounded' : 'plain';
  }

  async #claimOrdinary(request: ClaimRequest, passing: boolean): Promise<Row | undefined> {
    const { statement, values } = this.ordinary('claim', request, passing);
    for (let attempt = 1; ; attempt += 1) {
      const [row] = await this.#context.connection.run(statement, values);
      if (row?.[3] !== 't' || attempt === contendedTries) return row;
    }
  }

  /** The statement of an ordinary claim, or exchange, and its first ten parameters. */
  ordinary(
    kind: 'claim' | 'exchange',
    request: ClaimRequest,
    passing: boolean,
  ): { statement: Statement; values: unknown[] } {
    const { takes, alone } = request;
    const lease = [request.token, request.workerId, Math.round(request.leaseMs)];
    const rest = [this.#context.offsetMs(), passing];
    const [take] = takes;
    if (takes.length === 1 && take !== undefined) {
      const { queues, names, limit, start } = take;
      const slots = [alone ? 1 : limit, start, alone ? aloneLine : 0];
      const values = [...lease, textArray([...new Set(queues)]), textArray(names), ...slots, ...rest];
      return { statement: this.queries[kind], values };
    }
    const queues = takes.flatMap((one, index) =>
      [...new Set(one.queues)].map((queue) => ({ queue, take: index + 1 })),
    );
    const values = [
      ...lease,
      textArray(queues.map(({ queue }) => queue)),
      plainArray(queues.map((one) => one.take)),
      namesOf(takes),
      plainArray(takes.map(({ limit }) => limit)),
      plainArray(takes.map(({ start }) => start)),
      ...rest,
    ];
    return { statement: this.#many[kind], values };
  }

  async #answer(request: ClaimRequest, row: Row | undefined): Promise<ClaimedJob[]> {
    const { token, takes } = request;
    const [taken, held, count] = row ?? [];
    if (intOf(count) === 0) return inTakeOrder(unpack(held ?? null, token, 'any'), takes);
    const jobs =
      taken === null || taken === undefined
        ? await fetchHeld(this.#context.connection, this.queries, { token })
        : unpack(taken, token, 'ordinary');
    return inTakeOrder(jobs, takes);
  }

  async markStarted(leases: readonly Lease[]): Promise<string[]> {
    if (leases.length === 0) return [];
    const ordered = inIdOrder(leases);
    const rows = await this.#context.connection.run(this.queries.markStarted, [
      uuidArray(ordered.map((lease) => lease.id)),
      uuidArray(ordered.map((lease) => lease.token)),
    ]);
    if (rows.length === leases.length) return [];
    const held = new Set(rows.map(([id]) => id));
    return leases.filter(({ id }) => !held.has(id)).map(({ id }) => id);
  }

  async renew(incarnation: string, leaseMs: number): Promise<HeldLease[]> {
    const values = [...tokenRange(incarnation), Math.round(leaseMs), this.#context.offsetMs()];
    await this.#context.connection.run(this.queries.renew, values);
    return this.held(incarnation);
  }

  async held(incarnation: string): Promise<HeldLease[]> {
    return (await this.#context.connection.run(this.queries.held, tokenRange(incarnation))).map(heldLease);
  }

  async stopRequests(incarnations: readonly string[]): Promise<HeldLease[]> {
    const values = [textArray(incarnations), mostRequests];
    return (await this.#context.connection.run(this.queries.stopRequests, values)).map(heldLease);
  }

  async peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    const { takes, budgets } = request;
    const queues = takes.flatMap((take, index) => take.queues.map((queue) => ({ queue, take: index + 1 })));
    const metered = queues.flatMap(({ queue }) => (Object.hasOwn(budgets.queues, queue) ? [queue] : []));
    const [row] = await this.#context.connection.run(this.queries.peek, [
      textArray(queues.map(({ queue }) => queue)),
      plainArray(queues.map(({ take }) => take)),
      namesOf(takes),
      textArray(metered),
      this.#context.offsetMs(),
    ]);
    const ordinary = intOrNull(row?.[0]);
    const times = ordinary === null ? [] : [ordinary];
    if (metered.length > 0 || row?.[2] === 't') {
      const { isDue, nextInMs } = await this.bounded.peek(request, false);
      if (isDue) times.push(0);
      if (nextInMs !== null) times.push(nextInMs);
    }
    let aloneDue = row?.[1] === 't';
    if (!aloneDue && (metered.length > 0 || row?.[3] === 't'))
      aloneDue = (await this.bounded.peek(request, true)).isDue;
    return { dueInMs: times.length === 0 ? null : Math.max(0, Math.min(...times)), aloneDue };
  }
}

/** Whether bounded jobs could still have been added. */
function isShort({ takes, alone }: ClaimRequest, jobs: readonly ClaimedJob[]): boolean {
  if (takes.length === 1) return jobs.length < Math.min(takes[0]?.start ?? 0, alone ? 1 : Infinity);
  return takes.some(
    ({ queues, names, start }) =>
      jobs.filter(({ queue, name }) => queues.includes(queue) && names.includes(name)).length < start,
  );
}

/** Stop requests in one answer. */
const mostRequests = 1_000;

function tokenRange(incarnation: string): [string, string] {
  return [incarnation + '0'.repeat(16), incarnation + 'f'.repeat(16)];
}

function heldLease([id, token, stopRequest]: Row): HeldLease {
  return { id: textOf(id), token: plainToken(textOf(token)), stopRequest: stopOf(intOf(stopRequest)) };
}

/** The server writes a token as a UUID; ours has no dashes. */
export function plainToken(uuid: string): string {
  return uuid.replaceAll('-', '');
}
