import { type HubRecord, type HubReport, hubKeptMs } from '../hub-record.js';
import type { Context } from './context.js';
import { hubQueries } from './queries/hubs.js';
import { intOf, textOf } from './statement.js';

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
    const { connection, offsetMs } = this.#context;
    const rows = await connection.run(this.#queries.list, [offsetMs(), hubKeptMs]);
    return rows.map(([report, startedAt, heartbeatAt, silentFor]) => ({
      ...(JSON.parse(textOf(report)) as HubReport),
      startedAtMs: intOf(startedAt),
      heartbeatAtMs: intOf(heartbeatAt),
      silentForMs: intOf(silentFor),
    }));
  }

  async remove(id: string): Promise<void> {
    await this.#context.connection.run(this.#queries.remove, [id]);
  }
}
