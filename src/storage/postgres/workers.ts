import type { AdminState, WorkerRecord, WorkerReport } from '../worker-record.js';
import type { Context } from './context.js';
import { type WorkerQueries, workerQueries } from './queries/workers.js';
import { boolOf, intOf, textOf } from './statement.js';

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
  ): Promise<{ outcome: 'registered' | 'taken'; adminState: AdminState }> {
    const { connection, offsetMs } = this.#context;
    const { id, incarnation } = report;
    const values = [id, incarnation, JSON.stringify(report), Math.round(aliveMs), offsetMs()];
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

  async list(): Promise<WorkerRecord[]> {
    const rows = await this.#context.connection.run(this.#queries.list, [this.#context.offsetMs()]);
    return rows.map(([report, adminState, startedAt, heartbeatAt, silentFor, gone]) => ({
      ...(JSON.parse(textOf(report)) as WorkerReport),
      adminState: adminStateOf(adminState),
      startedAtMs: intOf(startedAt),
      heartbeatAtMs: intOf(heartbeatAt),
      silentForMs: intOf(silentFor),
      gone: boolOf(gone),
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
