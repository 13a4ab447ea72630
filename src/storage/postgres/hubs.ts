import { hasErrorCode } from '../../internal/errors.js';
import { type HubRecord, type HubReport, hubKeptMs } from '../hub-record.js';
import type { Context } from './context.js';
import { hubQueries } from './queries/hubs.js';
import { intOf, type Row, textOf } from './statement.js';

/** The migration that brings the table. */
const hubsSince = 2;

export class Hubs {
  readonly #context: Context;
  readonly #queries: ReturnType<typeof hubQueries>;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = hubQueries(context.schema);
  }

  async beat(hub: HubReport): Promise<void> {
    const { connection, offsetMs } = this.#context;
    await connection.run(this.#queries.beat, [hub.id, JSON.stringify(hub), offsetMs()]);
  }

  async list(): Promise<HubRecord[]> {
    const rows = await this.#rows();
    return rows.map(([report, startedAt, heartbeatAt, silentFor]) => ({
      ...(JSON.parse(textOf(report)) as HubReport),
      startedAtMs: intOf(startedAt),
      heartbeatAtMs: intOf(heartbeatAt),
      silentForMs: intOf(silentFor),
    }));
  }

  /** Without the table, which this code still runs without, there are none. */
  async #rows(): Promise<Row[]> {
    const { connection, offsetMs } = this.#context;
    try {
      return await connection.run(this.#queries.list, [offsetMs(), hubKeptMs]);
    } catch (error) {
      if (this.#context.applied.version < hubsSince && hasErrorCode(error, 'schema-missing')) return [];
      throw error;
    }
  }

  async purge(limit: number): Promise<number> {
    if (this.#context.applied.version < hubsSince) return 0;
    const values = [this.#context.offsetMs(), limit, hubKeptMs];
    const [row] = await this.#context.connection.run(this.#queries.purge, values);
    return intOf(row?.[0]);
  }

  async remove(id: string): Promise<void> {
    await this.#context.connection.run(this.#queries.remove, [id]);
  }
}
