import type { Context } from './context.js';
import { type DutyQueries, dutyQueries } from './queries/workers.js';

export class Duties {
  readonly #context: Context;
  readonly #queries: DutyQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = dutyQueries(context.schema);
  }

  async take(name: string, holder: string, ttlMs: number): Promise<boolean> {
    const { connection, offsetMs } = this.#context;
    return (
      (await connection.run(this.#queries.take, [name, holder, Math.round(ttlMs), offsetMs()])).length > 0
    );
  }

  async release(name: string, holder: string): Promise<void> {
    await this.#context.connection.run(this.#queries.release, [name, holder]);
  }
}
