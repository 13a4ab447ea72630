import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import type {
  AdminState,
  FleetOrders,
  HeartbeatAnswer,
  Registration,
  WorkerChange,
  WorkerChangeOutcome,
  WorkerOrders,
  WorkerRecord,
  WorkerReport,
} from '../worker-record.js';
import { readReport } from '../worker-record.js';
import { auditValues } from './audit-values.js';
import type { Context } from './context.js';
import { type WorkerQueries, workerQueries } from './queries/workers.js';
import { boolOf, type Executor, intOf, intOrNull, type Row, textOf } from './statement.js';

const noId = '00000000-0000-0000-0000-000000000000';

/** The migration that brings them. */
const epochsSince = 2;

export class Workers {
  readonly #context: Context;
  readonly #newest: WorkerQueries;
  readonly #beforeEpochs: WorkerQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#newest = workerQueries(context.schema);
    this.#beforeEpochs = workerQueries(context.schema, false);
  }

  get #queries(): WorkerQueries {
    return this.#context.applied.version < epochsSince ? this.#beforeEpochs : this.#newest;
  }

  async register(report: WorkerReport, aliveMs: number, ended: string | null): Promise<Registration> {
    const { connection, offsetMs } = this.#context;
    const { id, incarnation } = report;
    const values = [id, incarnation, JSON.stringify(report), Math.round(aliveMs), offsetMs(), ended];
    const [row] = await connection.run(this.#queries.register, values);
    if (row !== undefined)
      return { outcome: 'registered', adminState: adminStateOf(row[0]), epoch: intOf(row[1]) };
    const { adminState, epoch } = await this.#known(report);
    return { outcome: 'taken', adminState, epoch };
  }

  async heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer> {
    const { connection, offsetMs } = this.#context;
    const values = [report.id, report.incarnation, JSON.stringify(report), offsetMs(), epoch ?? null];
    const [row] = await connection.run(this.#queries.heartbeat, values);
    if (row !== undefined) return { outcome: 'ok', adminState: adminStateOf(row[0]) };
    const known = await this.#known(report);
    const isSuperseded = known.isThis && epoch !== undefined && epoch !== known.epoch;
    return { outcome: isSuperseded ? 'superseded' : 'unknown', adminState: known.adminState };
  }

  async noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean> {
    const { connection, offsetMs } = this.#context;
    const rows = await connection.run(this.#queries.noteDisconnected, [id, incarnation, epoch, offsetMs()]);
    return rows.length > 0;
  }

  async fleetOrders(): Promise<FleetOrders> {
    const rows = await this.#context.connection.run(this.#queries.fleetOrders);
    return {
      workers: rows.flatMap(([, id, adminState, recycleAsked]) =>
        id === null || id === undefined
          ? []
          : [{ id, adminState: adminStateOf(adminState), recycleAsked: boolOf(recycleAsked) }],
      ),
      paused: rows.flatMap(([queue]) => (queue === null || queue === undefined ? [] : [queue])),
    };
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
    return rows.map(recordOf);
  }

  async change(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    const { connection, offsetMs } = this.#context;
    return connection.transaction('changing a worker', async (tx) => {
      const outcome = await this.#carryOut(tx, id, change);
      await tx.run(this.#queries.writeAudit, auditValues(audit, outcome, offsetMs()));
      return outcome;
    });
  }

  async noteAudit(entry: NewAuditEntry, result: string): Promise<void> {
    const { connection, offsetMs } = this.#context;
    await connection.run(this.#queries.writeAudit, auditValues(entry, result, offsetMs()));
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
        return (await tx.run(this.#queries.exists, [id])).length > 0 ? 'alive' : 'not-found';
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

  async #known({ id, incarnation }: WorkerReport): Promise<Known> {
    const [row] = await this.#context.connection.run(this.#queries.known, [id, incarnation]);
    return { adminState: adminStateOf(row?.[0]), epoch: intOf(row?.[1]), isThis: boolOf(row?.[2]) };
  }
}

interface Known {
  readonly adminState: AdminState;
  readonly epoch: number;
  /** The registration is of this incarnation and holds. */
  readonly isThis: boolean;
}

function recordOf(row: Row): WorkerRecord {
  const [report, adminState, startedAt, heartbeatAt, silentFor, gone, recycleAsked, epoch, closedFor] = row;
  return {
    ...readReport(textOf(report)),
    adminState: adminStateOf(adminState),
    recycleAsked: boolOf(recycleAsked),
    startedAtMs: intOf(startedAt),
    heartbeatAtMs: intOf(heartbeatAt),
    silentForMs: intOf(silentFor),
    gone: boolOf(gone),
    connectionEpoch: intOf(epoch),
    disconnectedForMs: intOrNull(closedFor),
  };
}

function adminStateOf(text: string | null | undefined): AdminState {
  return text === 'drain' || text === 'standby' ? text : 'active';
}

const foundIn = (rows: readonly Row[]): 'done' | 'not-found' => (rows.length > 0 ? 'done' : 'not-found');
