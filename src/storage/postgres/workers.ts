import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import type {
  AdminState,
  WorkerChange,
  WorkerChangeOutcome,
  WorkerOrders,
  WorkerRecord,
  WorkerReport,
} from '../worker-record.js';
import type { Context } from './context.js';
import { type WorkerQueries, workerQueries } from './queries/workers.js';
import { boolOf, type Executor, intOf, type Row, textOf } from './statement.js';

const noId = '00000000-0000-0000-0000-000000000000';

export class Workers {
  readonly #context: Context;
  readonly #queries: WorkerQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = workerQueries(context.schema);
  }

  async register(
    report: WorkerReport,
    aliveMs: number,
    ended: string | null,
  ): Promise<{ outcome: 'registered' | 'taken'; adminState: AdminState }> {
    const { connection, offsetMs } = this.#context;
    const { id, incarnation } = report;
    const values = [id, incarnation, JSON.stringify(report), Math.round(aliveMs), offsetMs(), ended];
    const [row] = await connection.run(this.#queries.register, values);
    if (row !== undefined) return { outcome: 'registered', adminState: adminStateOf(row[0]) };
    return { outcome: 'taken', adminState: await this.#adminState(id) };
  }

  async heartbeat(report: WorkerReport): Promise<{ outcome: 'ok' | 'unknown'; adminState: AdminState }> {
    const { connection, offsetMs } = this.#context;
    const values = [report.id, report.incarnation, JSON.stringify(report), offsetMs()];
    const [row] = await connection.run(this.#queries.heartbeat, values);
    if (row !== undefined) return { outcome: 'ok', adminState: adminStateOf(row[0]) };
    return { outcome: 'unknown', adminState: await this.#adminState(report.id) };
  }

  async unregister(id: string, incarnation: string): Promise<void> {
    await this.#context.connection.run(this.#queries.unregister, [id, incarnation, this.#context.offsetMs()]);
  }

  async orders(id: string): Promise<WorkerOrders> {
    const rows = await this.#context.connection.run(this.#queries.orders, [id]);
    const own = rows.find(([queue]) => queue === null);
    return {
      adminState: adminStateOf(own?.[1]),
      recycleAsked: boolOf(own?.[2]),
      paused: rows.flatMap(([queue]) => (queue === null || queue === undefined ? [] : [queue])),
    };
  }

  async list(): Promise<WorkerRecord[]> {
    const rows = await this.#context.connection.run(this.#queries.list, [this.#context.offsetMs()]);
    return rows.map(([report, adminState, startedAt, heartbeatAt, silentFor, gone, recycleAsked]) => ({
      ...(JSON.parse(textOf(report)) as WorkerReport),
      adminState: adminStateOf(adminState),
      recycleAsked: boolOf(recycleAsked),
      startedAtMs: intOf(startedAt),
      heartbeatAtMs: intOf(heartbeatAt),
      silentForMs: intOf(silentFor),
      gone: boolOf(gone),
    }));
  }

  async change(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    const { connection, offsetMs } = this.#context;
    return connection.transaction('changing a worker', async (tx) => {
      const outcome = await this.#carryOut(tx, id, change);
      const { actor, action, target, source } = audit;
      const values = [audit.id, actor, action, target, source, outcome, offsetMs()];
      await tx.run(this.#queries.writeAudit, values);
      return outcome;
    });
  }

  async #carryOut(tx: Executor, id: string, change: WorkerChange): Promise<WorkerChangeOutcome> {
    switch (change.kind) {
      case 'admin-state':
        return foundIn(await tx.run(this.#queries.setAdminState, [id, change.adminState]));
      case 'recycle':
        return foundIn(await tx.run(this.#queries.askRecycle, [id]));
      case 'forget': {
        const values = [id, Math.round(change.silentForMs), this.#context.offsetMs()];
        if ((await tx.run(this.#queries.forget, values)).length > 0) return 'done';
        return (await tx.run(this.#queries.adminState, [id])).length > 0 ? 'alive' : 'not-found';
      }
    }
  }

  async forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean> {
    const rows = await this.#context.connection.run(this.#queries.forgetSilent, [id, heartbeatAtMs]);
    return rows.length > 0;
  }

  async audit({ limit, after }: AuditPageRequest): Promise<AuditEntry[]> {
    const { atMs, id } = after ?? { atMs: Number.MAX_SAFE_INTEGER, id: noId };
    const rows = await this.#context.connection.run(this.#queries.auditPage, [atMs, id, limit]);
    return rows.map(([entry, actor, action, target, source, at, result]) => ({
      id: textOf(entry),
      actor: textOf(actor),
      action: textOf(action),
      target: textOf(target),
      source: textOf(source),
      atMs: intOf(at),
      result: textOf(result),
    }));
  }

  async #adminState(id: string): Promise<AdminState> {
    const [row] = await this.#context.connection.run(this.#queries.adminState, [id]);
    return adminStateOf(row?.[0]);
  }
}

function adminStateOf(text: string | null | undefined): AdminState {
  return text === 'drain' || text === 'standby' ? text : 'active';
}

const foundIn = (rows: readonly Row[]): 'done' | 'not-found' => (rows.length > 0 ? 'done' : 'not-found');
