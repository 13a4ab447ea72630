import { isUuid } from '../../internal/uuid.js';
import { auditKeptMs } from '../audit.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlOutcome, JobEdit } from '../settlement.js';
import { textArray, uuidArray } from './arrays.js';
import { changeMany, type ManyChanges, revive } from './change-many.js';
import { statusCode, stopCode } from './codes.js';
import type { Context } from './context.js';
import { type EndingTools, endJobs } from './endings.js';
import { type Followed, stoppedAs } from './followed.js';
import { Hubs } from './hubs.js';
import { type ControlQueries, controlQueries } from './queries/control.js';
import { type LineQueries, lineQueries } from './queries/lines.js';
import { type ProfileQueries, profileQueries } from './queries/profiles.js';
import { endingQueries } from './queries/settle.js';
import { removeUnusedLines } from './remove-lines.js';
import { type Executor, intOf, textOf } from './statement.js';

/** Buried jobs that one transaction of retryBuried takes. */
const retryPage = 500;
/** A worker that has been silent, a line that nobody named, a profile: after so long they are forgotten. */
const traceMs = 86_400_000;

export class Control {
  readonly #context: Context;
  readonly #followed: Followed;
  readonly #queries: ControlQueries;
  readonly #lines: LineQueries;
  readonly #profiles: ProfileQueries;
  readonly #hubs: Hubs;

  constructor(context: Context, followed: Followed) {
    this.#context = context;
    this.#followed = followed;
    this.#queries = controlQueries(context.schema);
    this.#lines = lineQueries(context.schema);
    this.#profiles = profileQueries(context.schema);
    this.#hubs = new Hubs(context);
  }

  async retry(id: string): Promise<ControlOutcome> {
    if (!isUuid(id)) return 'not-found';
    return this.#followed.inTransaction('retry', async (tools) => {
      const [pending] = await tools.tx.run(this.#queries.hasten, [id, tools.offsetMs()]);
      if (pending !== undefined) {
        tools.awakened.add(textOf(pending[0]));
        return 'done';
      }
      const { revived, duplicates } = await revive(tools, this.#queries, [id]);
      if (revived.size > 0) return 'done';
      if (duplicates.size > 0) return 'duplicate';
      return (await this.#status(tools.tx, id)) === null ? 'not-found' : 'not-allowed';
    });
  }

  async retryBuried(request: {
    queue?: string;
    limit: number;
  }): Promise<{ retried: number; duplicates: number }> {
    const total = { retried: 0, duplicates: 0 };
    const queues = request.queue === undefined ? await this.#queues() : [request.queue];
    let after: string | null = null;
    while (total.retried < request.limit) {
      const wanted = Math.min(retryPage, request.limit - total.retried);
      const page = await this.#context.connection.run(this.#queries.buriedIds, [
        textArray(queues),
        after,
        wanted,
      ]);
      if (page.length === 0) break;
      const ids = page.map(([id]) => textOf(id));
      after = ids.at(-1) ?? null;
      const { revived, duplicates } = await this.#followed.inTransaction('retryBuried', (tools) =>
        revive(tools, this.#queries, ids),
      );
      total.retried += revived.size;
      total.duplicates += duplicates.size;
    }
    return total;
  }

  /** At once where nothing runs, else as a request to its worker. */
  async stop(id: string, request: StopRequest): Promise<ControlOutcome> {
    if (!isUuid(id)) return 'not-found';
    return this.#followed.inTransaction(request, async (tools) => {
      const job = (await this.#followed.lock(tools.tx, [id])).get(id.toLowerCase());
      if (job === undefined) return this.#stopEnded(tools, id, request);
      if (job.status === statusCode.processing) {
        await tools.tx.run(this.#queries.requestStop, [id, stopCode[request]]);
        return 'requested';
      }
      await endJobs(tools, [
        { id: job.id, byLease: false, isFollowed: job.isFollowed, ...stoppedAs(request) },
      ]);
      return 'done';
    });
  }

  async edit(id: string, edit: JobEdit): Promise<ControlOutcome> {
    const [outcome] = await this.changeMany({ change: { kind: 'edit', edit }, ids: [id] });
    return outcome ?? 'not-found';
  }

  changeMany(request: ManyChanges): Promise<ControlOutcome[]> {
    return changeMany(this.#followed, this.#queries, request);
  }

  async setPaused(queue: string, paused: boolean): Promise<void> {
    if (paused) await this.#context.connection.run(this.#queries.pause, [queue]);
    else if ((await this.#context.connection.run(this.#queries.resume, [queue])).length > 0)
      this.#context.wake([queue]);
  }

  async pausedQueues(): Promise<string[]> {
    return (await this.#context.connection.run(this.#queries.paused)).map(([queue]) => textOf(queue));
  }

  async purge(request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  }): Promise<number> {
    let purged = 0;
    for (const status of new Set(request.statuses)) {
      if (purged >= request.limit) break;
      const part = {
        status: statusCode[status],
        olderThanMs: request.olderThanMs,
        limit: request.limit - purged,
      };
      purged += await this.#purge(part);
    }
    return purged;
  }

  #purge(part: { status: number; olderThanMs: number; limit: number }): Promise<number> {
    const { connection, offsetMs } = this.#context;
    return connection.transaction('purge', async (tx) => {
      const values = [part.status, Math.round(part.olderThanMs), offsetMs(), part.limit];
      const ids = (await tx.run(this.#queries.purgeable, values)).map(([id]) => textOf(id));
      if (ids.length === 0) return 0;
      const [row] = await tx.run(this.#queries.purge, [uuidArray(ids), part.status, offsetMs()]);
      return intOf(row?.[0]);
    });
  }

  async purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number> {
    const { connection, offsetMs } = this.#context;
    const { limit } = request;
    const lines = await connection.run(this.#queries.purgeLines, [
      Math.round(request.olderThanMs),
      offsetMs(),
      limit,
    ]);
    const periods = await connection.run(this.#queries.purgePeriods, [offsetMs(), limit]);
    const workers = await connection.run(this.#queries.purgeWorkers, [offsetMs(), limit, traceMs]);
    const hubs = await this.#hubs.purge(limit);
    const audit = await connection.run(this.#queries.purgeAudit, [offsetMs(), limit, auditKeptMs]);
    await connection.run(this.#profiles.purge, [traceMs, offsetMs(), limit]);
    await removeUnusedLines(this.#context, this.#lines, { unnamedForMs: traceMs, limit });
    return [lines, periods, workers, audit].reduce((sum, [row]) => sum + intOf(row?.[0]), hubs);
  }

  async #stopEnded(tools: EndingTools, id: string, request: StopRequest): Promise<ControlOutcome> {
    if ((await this.#status(tools.tx, id)) === null) return 'not-found';
    if (request !== 'delete') return 'already-final';
    await tools.tx.run(endingQueries(this.#context.schema).remove, [uuidArray([id])]);
    return 'done';
  }

  async #status(tx: Executor, id: string): Promise<number | null> {
    const [row] = await tx.run(this.#queries.statusOf, [id]);
    const status = row?.[0];
    return status === null || status === undefined ? null : Number(status);
  }

  async #queues(): Promise<string[]> {
    return (await this.#context.connection.run(this.#queries.queues)).map(([queue]) => textOf(queue));
  }
}
