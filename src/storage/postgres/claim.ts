import type { ClaimedJob, HeldLease, Lease } from '../claimed-job.js';
import { unbounded } from '../job-limit.js';
import type { SingleTake } from '../single-take.js';
import { textArray, uuidArray } from './arrays.js';
import { aloneLine, stopOf } from './codes.js';
import type { Context } from './context.js';
import { inIdOrder } from './id-order.js';
import { type ClaimQueries, claimQueries, fieldSeparator, rowSeparator } from './queries/claim.js';
import { intOf, intOrNull, type Row, textOf } from './statement.js';

/** One claim may find its candidates taken under its hands so often before it answers with none. */
const contendedTries = 5;
/** What is fetched at once of an answer too large for one value. */
const partBytes = 16 * 1024 * 1024;

export class Claims {
  readonly #context: Context;
  readonly queries: ClaimQueries;

  constructor(context: Context) {
    this.#context = context;
    this.queries = claimQueries(context.schema);
  }

  async claim(request: SingleTake): Promise<ClaimedJob[]> {
    for (let attempt = 1; ; attempt += 1) {
      const [row] = await this.#context.connection.run(this.queries.claim, this.values(request));
      const isContended = row?.[3] === 't';
      if (!isContended || attempt === contendedTries) return this.answer(request, row);
    }
  }

  /** The first nine parameters of claim and exchange. */
  values(request: SingleTake): unknown[] {
    const { token, workerId, leaseMs, names, limit, start, alone } = request;
    const queues = [...new Set(request.queues)];
    return [
      token,
      workerId,
      Math.round(leaseMs),
      textArray(queues),
      textArray(names),
      alone ? 1 : limit,
      start,
      alone ? aloneLine : 0,
      this.#context.offsetMs(),
    ];
  }

  /** The jobs in an answer of claim or exchange, in the order of the claim. */
  async answer(request: SingleTake, row: Row | undefined): Promise<ClaimedJob[]> {
    const [taken, held, count] = row ?? [];
    if (intOf(count) === 0) return inClaimOrder(unpack(held ?? null, request.token), request.queues);
    const jobs =
      taken === null || taken === undefined ? await this.#inParts(request) : unpack(taken, request.token);
    return inClaimOrder(jobs, request.queues);
  }

  async #inParts({ token }: SingleTake): Promise<ClaimedJob[]> {
    const { connection } = this.#context;
    const sizes = await connection.run(this.queries.heldSizes, [token]);
    const jobs: ClaimedJob[] = [];
    for (let from = 0; from < sizes.length; ) {
      const ids: string[] = [];
      for (let bytes = 0; from < sizes.length && (ids.length === 0 || bytes < partBytes); from += 1) {
        ids.push(textOf(sizes[from]?.[0]));
        bytes += intOf(sizes[from]?.[1]);
      }
      const rows = await connection.run(this.queries.heldPart, [token, uuidArray(ids)]);
      for (const [text] of rows) jobs.push(...unpack(text ?? null, token));
    }
    return jobs;
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

  async peek(
    queues: readonly string[],
    names: readonly string[],
  ): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    const values = [textArray(queues), textArray(names), this.#context.offsetMs()];
    const [row] = await this.#context.connection.run(this.queries.peek, values);
    const dueInMs = intOrNull(row?.[0]);
    return { dueInMs: dueInMs === null ? null : Math.max(dueInMs, 0), aloneDue: row?.[1] === 't' };
  }
}

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

function unpack(text: string | null, token: string): ClaimedJob[] {
  if (text === null) return [];
  return text.split(rowSeparator).map((row) => {
    const f = row.split(fieldSeparator);
    return {
      id: f[0] ?? '',
      token,
      name: f[1] ?? '',
      queue: f[2] ?? '',
      payload: f[12] ?? '',
      version: Number(f[11]),
      priority: 0 - Number(f[3]),
      attempts: Number(f[4]),
      maxAttempts: Number(f[5]),
      deaths: Number(f[6]),
      lapses: Number(f[7]),
      started: f[8] === 't',
      errors: f[13] ?? null,
      createdAtMs: Number(f[9]),
      dueAtMs: Number(f[10]),
      ...unbounded,
    };
  });
}

/** Rows come as they lie in the table, which mostly is the order of the claim already. */
function inClaimOrder(jobs: ClaimedJob[], queues: readonly string[]): ClaimedJob[] {
  const place =
    queues.length < 2 ? null : new Map([...new Set(queues)].map((queue, index) => [queue, index]));
  const compare = (a: ClaimedJob, b: ClaimedJob): number =>
    (place === null ? 0 : (place.get(a.queue) ?? 0) - (place.get(b.queue) ?? 0)) ||
    b.priority - a.priority ||
    a.dueAtMs - b.dueAtMs ||
    (a.id < b.id ? -1 : 1);
  for (let index = 1; index < jobs.length; index += 1) {
    if (compare(jobs[index - 1] as ClaimedJob, jobs[index] as ClaimedJob) > 0) return jobs.sort(compare);
  }
  return jobs;
}
