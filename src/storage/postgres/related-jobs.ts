/*
 * Dispatch of jobs with keys, parents or tags: one transaction for the call, each step one statement for all of them.
 *
 *   1. lock the parents that live, in ascending id; from here on none of them can end
 *   2. take every key that is free, in ascending order; a key another transaction is just taking is waited for
 *   3. decide row by row, in the order of the call, with what is now known and can't change
 *   4. write what was decided; give back what was taken in vain
 *
 * Lock order: parents, then keys, as everywhere.
 */
import { MillraceError } from '../../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { termsOf } from './bounds.js';
import { care, keyKind, policyCode, scopeCode, statusCode } from './codes.js';
import type { Context } from './context.js';
import { type Decided, decide, type KnownState } from './decide-enqueue.js';
import { boundColumns, jobColumns, versionColumn } from './job-columns.js';
import type { Line } from './line-registry.js';
import type { EnqueueQueries } from './queries/enqueue.js';
import { type Executor, intOf, textOf } from './statement.js';

export function enqueueRelated(
  context: Context,
  queries: EnqueueQueries,
  jobs: readonly NewJob[],
  lines: ReadonlyMap<string, Line>,
): Promise<EnqueueOutcome[]> {
  return context.connection.transaction('enqueue', async (tx) => {
    const steps = new Steps(tx, { queries, lines, offsetMs: context.offsetMs });
    const decided = decide(jobs, {
      known: await steps.knownIds(jobs),
      parents: await steps.lockParents(jobs),
      keys: await steps.takeKeys(jobs),
    });
    await steps.write(decided);
    return decided.map((row) => row.outcome);
  });
}

class Steps {
  readonly #tx: Executor;
  readonly #queries: EnqueueQueries;
  readonly #lines: ReadonlyMap<string, Line>;
  readonly #offsetMs: () => number;
  #taken: { kind: number; key: string }[] = [];

  constructor(
    tx: Executor,
    parts: { queries: EnqueueQueries; lines: ReadonlyMap<string, Line>; offsetMs: () => number },
  ) {
    this.#tx = tx;
    this.#queries = parts.queries;
    this.#lines = parts.lines;
    this.#offsetMs = parts.offsetMs;
  }

  async knownIds(jobs: readonly NewJob[]): Promise<Set<string>> {
    const rows = await this.#tx.run(this.#queries.knownIds, [uuidArray(jobs.map((job) => job.id))]);
    return new Set(rows.map(([id]) => textOf(id)));
  }

  /** Status of every parent outside the call: `live`, or how it ended. */
  async lockParents(jobs: readonly NewJob[]): Promise<KnownState['parents']> {
    const parents = new Map<string, 'live' | number>();
    const ids = [...new Set(jobs.flatMap((job) => job.after?.ids ?? []))];
    // Twice: one that an operator retries leaves history for the live jobs just while we look.
    for (let round = 0; round < 2; round += 1) {
      await this.#lockLive(ids, parents);
      await this.#lockEnded(ids, parents);
    }
    return parents;
  }

  async #lockLive(ids: readonly string[], parents: KnownState['parents']): Promise<void> {
    const open = ids.filter((id) => !parents.has(id));
    if (open.length === 0) return;
    for (const [id] of await this.#tx.run(this.#queries.lockParents, [uuidArray(open)]))
      parents.set(textOf(id), 'live');
  }

  /** After the live ones: a parent that ended while we waited for its lock is in history by now. */
  async #lockEnded(ids: readonly string[], parents: KnownState['parents']): Promise<void> {
    const open = ids.filter((id) => !parents.has(id));
    if (open.length === 0) return;
    for (const [id, status] of await this.#tx.run(this.#queries.endedStatus, [uuidArray(open)])) {
      parents.set(textOf(id), intOf(status));
    }
  }

  /** Takes what is free; who holds the rest. */
  async takeKeys(jobs: readonly NewJob[]): Promise<KnownState['keys']> {
    const held: KnownState['keys'] = new Map();
    let open = wantedKeys(jobs);
    while (open.size > 0) {
      const list = [...open.values()];
      const columns = [plainArray(list.map((k) => k.kind)), textArray(list.map((k) => k.key))];
      const taken = await this.#tx.run(this.#queries.takeKeys, [
        ...columns,
        uuidArray(list.map((k) => k.job)),
        this.#offsetMs(),
      ]);
      for (const [kind, key] of taken) {
        this.#taken.push({ kind: intOf(kind), key: textOf(key) });
        open.delete(`${kind} ${key}`);
      }
      if (open.size === 0) break;
      const rest = [...open.values()];
      const holders = await this.#tx.run(this.#queries.keyHolders, [
        plainArray(rest.map((k) => k.kind)),
        textArray(rest.map((k) => k.key)),
      ]);
      // A key that nobody holds any more was freed between the two statements: once more.
      for (const [kind, key, job, inputHash] of holders) {
        held.set(`${kind} ${key}`, { job: textOf(job), inputHash: inputHash ?? null });
        open.delete(`${kind} ${key}`);
      }
      open = new Map(open);
    }
    return held;
  }

  async write(decided: readonly Decided[]): Promise<void> {
    const live = decided.filter((row) => row.status === 'pending' || row.status === 'blocked');
    const ended = decided.filter((row) => row.status === 'buried' || row.status === 'cancelled');
    if (live.length > 0) await this.#insertLive(live);
    if (ended.length > 0) await this.#insertEnded(ended);
    await this.#addTags([...live, ...ended]);
    await this.#linkParents([...live, ...ended]);
    await this.#settleKeys(decided);
  }

  async #insertLive(rows: readonly Decided[]): Promise<void> {
    const jobs = rows.map((row) => row.job);
    const columns = jobColumns(jobs);
    const written = await this.#tx.run(this.#queries.insertDecided, [
      ...columns,
      this.#offsetMs(),
      plainArray(rows.map((row) => statusCode[row.status ?? 'pending'])),
      plainArray(rows.map(careOf)),
      ...uniqueColumns(rows),
      versionColumn(jobs),
      ...boundColumns(jobs, this.#lines),
    ]);
    if (written.length === rows.length) return;
    // The same dispatch is being written by another connection: the next try finds it done.
    throw new MillraceError(
      'transaction-conflict',
      'PostgreSQL, enqueue: the same jobs were written at the same time',
    );
  }

  async #insertEnded(rows: readonly Decided[]): Promise<void> {
    await this.#tx.run(this.#queries.insertEnded, [
      ...jobColumns(rows.map((row) => row.job)),
      this.#offsetMs(),
      plainArray(rows.map((row) => statusCode[row.status ?? 'buried'])),
      ...uniqueColumns(rows),
      versionColumn(rows.map((row) => row.job)),
      textArray(rows.map((row) => termsOf(row.job))),
    ]);
  }

  async #addTags(rows: readonly Decided[]): Promise<void> {
    const tags = rows.flatMap(({ job }) => job.tags.map((tag) => ({ tag, id: job.id })));
    if (tags.length === 0) return;
    const columns = [textArray(tags.map(({ tag }) => tag)), uuidArray(tags.map(({ id }) => id))];
    await this.#tx.run(this.#queries.addTags, columns);
  }

  async #linkParents(rows: readonly Decided[]): Promise<void> {
    const edges = rows.flatMap((row) => row.edges.map((edge) => ({ child: row.job.id, ...edge })));
    if (edges.length === 0) return;
    const open = [...new Set(edges.filter((edge) => !edge.met).map((edge) => edge.parent))].sort();
    if (open.length > 0) await this.#tx.run(this.#queries.markFollowed, [uuidArray(open)]);
    await this.#tx.run(this.#queries.addDependencies, [
      uuidArray(edges.map((edge) => edge.child)),
      uuidArray(edges.map((edge) => edge.parent)),
      plainArray(edges.map((edge) => edge.met)),
    ]);
  }

  async #settleKeys(decided: readonly Decided[]): Promise<void> {
    const kept = decided.flatMap((row) => row.keys);
    if (kept.length > 0) {
      await this.#tx.run(this.#queries.assignKeys, [
        plainArray(kept.map((k) => k.kind)),
        textArray(kept.map((k) => k.key)),
        uuidArray(kept.map((k) => k.job)),
        plainArray(kept.map((k) => k.periodMs)),
        textArray(kept.map((k) => k.inputHash)),
        this.#offsetMs(),
      ]);
    }
    const keep = new Set(kept.map((k) => `${k.kind} ${k.key}`));
    const vain = this.#taken.filter((k) => !keep.has(`${k.kind} ${k.key}`));
    if (vain.length === 0) return;
    await this.#tx.run(this.#queries.returnKeys, [
      plainArray(vain.map((k) => k.kind)),
      textArray(vain.map((k) => k.key)),
    ]);
  }
}

function wantedKeys(jobs: readonly NewJob[]): Map<string, { kind: number; key: string; job: string }> {
  const wanted = new Map<string, { kind: number; key: string; job: string }>();
  const want = (kind: number, key: string, job: string): void => {
    if (!wanted.has(`${kind} ${key}`)) wanted.set(`${kind} ${key}`, { kind, key, job });
  };
  for (const job of jobs) {
    if (job.idempotency !== null) want(keyKind.idempotency, job.idempotency.key, job.id);
    if (job.unique !== null) want(keyKind.unique, job.unique.key, job.id);
  }
  return wanted;
}

function careOf(row: Decided): number {
  const holdsKey = row.job.unique?.scope === 'active' ? care.holdsKey : 0;
  return (row.isFollowed ? care.followed : 0) | holdsKey;
}

/** Unique key, scope, policy. */
function uniqueColumns(rows: readonly Decided[]): unknown[] {
  return [
    textArray(rows.map(({ job }) => job.unique?.key ?? null)),
    plainArray(rows.map(({ job }) => (job.unique === null ? 0 : scopeCode[job.unique.scope]))),
    plainArray(rows.map(({ job }) => (job.after === null ? 0 : policyCode[job.after.onFailure]))),
  ];
}
