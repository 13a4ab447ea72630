import { Connection } from './connection.js';
import type { Context } from './context.js';
import { mendLines } from './mend-lines.js';
import type { ResolvedPostgresOptions } from './options.js';
import { type LineQueries, lineQueries } from './queries/lines.js';
import { type ProfileQueries, profileQueries } from './queries/profiles.js';
import { type DutyQueries, dutyQueries } from './queries/workers.js';
import { intOf, textOf } from './statement.js';

/**
 * The hot table is vacuumed after so many settled jobs. Dead rows pile up in front of the claim, and autovacuum wakes
 * once a minute: measured, a drain of a million falls from 52,000 to 34,000 jobs a second without this, and stays level
 * with it, at 35 to 70 ms each beside the load.
 */
const vacuumEvery = 50_000;
/** What a healthy system never needs is looked for so often. */
const mendEveryMs = 60_000;

/** Housekeeping, one call at a time, on a connection of its own that is closed when there was nothing to do for long. */
export class Tidier {
  readonly #context: Context;
  readonly #options: ResolvedPostgresOptions;
  readonly #queries: DutyQueries;
  readonly #profiles: ProfileQueries;
  readonly #lines: LineQueries;
  #mendedAtMs = Number.NEGATIVE_INFINITY;
  #own: Connection | null = null;
  #running: Promise<void> | null = null;
  /** Since the last vacuum, as this process was told. */
  #reported = 0;
  /** Sum of all counts when the last vacuum ran, or when they were first read. */
  #countedThen: number | null = null;
  #counted = 0;

  constructor(context: Context, options: ResolvedPostgresOptions) {
    this.#context = context;
    this.#options = options;
    this.#queries = dutyQueries(context.schema);
    this.#profiles = profileQueries(context.schema);
    this.#lines = lineQueries(context.schema);
  }

  tidy(request: { settled: number; idle: boolean }): Promise<void> {
    this.#reported += request.settled;
    this.#running ??= this.#run(request.idle).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async close(): Promise<void> {
    const own = this.#own;
    this.#own = null;
    await own?.close(0);
  }

  async #run(idle: boolean): Promise<void> {
    this.#own ??= new Connection(this.#options);
    // The sum of the counts tells what all processes have settled.
    this.#counted = intOf((await this.#own.run(this.#queries.foldCounts))[0]?.[0]);
    this.#countedThen ??= this.#counted;
    if (idle) await this.#own.run(this.#profiles.fold);
    const settled = Math.max(this.#reported, this.#counted - this.#countedThen);
    if (settled >= vacuumEvery) await this.#vacuum(this.#own);
    const nowMs = performance.now() + this.#context.offsetMs();
    if (nowMs - this.#mendedAtMs >= mendEveryMs) await this.#mend(this.#own, nowMs);
    if (!idle) return;
    await this.close();
  }

  async #mend(own: Connection, nowMs: number): Promise<void> {
    await this.#findKinds(own);
    const queues = await mendLines(own, this.#lines, this.#context);
    if (queues.size > 0) this.#context.wake(queues);
    this.#mendedAtMs = nowMs;
  }

  async #vacuum(own: Connection): Promise<void> {
    const startedAt = performance.now();
    // One at a time: SKIP_LOCKED leaves it to the one that is at it. Without INDEX_CLEANUP a vacuum may keep just the
    // dead index entries that the claim walks over.
    const options = 'truncate false, skip_locked, index_cleanup true, parallel 0';
    await own.run({ name: 'vacuum', text: `vacuum (${options}) ${this.#context.schema}.jobs` });
    await own.run({ name: 'vacuum', text: `vacuum (${options}) ${this.#context.schema}.counts` });
    this.#reported = 0;
    this.#countedThen = this.#counted;
    this.#context.logger.debug('postgres: vacuumed', { ms: Math.round(performance.now() - startedAt) });
  }

  /** A claim goes by the kinds that are registered: a job of another would wait for ever. In a healthy system none. */
  async #findKinds(own: Connection): Promise<void> {
    const rows = await own.run(this.#queries.missingKinds);
    for (const [queue, name] of rows) {
      this.#context.logger.warn('postgres: registered a kind of job that was missing', {
        queue: textOf(queue),
        name: textOf(name),
      });
    }
    if (rows.length > 0) this.#context.wake(new Set(rows.map(([queue]) => textOf(queue))));
  }
}
