/**
 * Jobs that something may stand against (keys, parents, an id that is known), or that carry tags. One transaction for all rows: lock the
 * parents, then the keys, decide row by row in order, write. A parent is marked as followed under its row lock, so that it
 * can't be settled the plain way from then on; one that has ended is read as such.
 */
import { isFinal } from '../../core/job-status.js';
import { bytesToUuid } from '../../internal/uuid.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { statusCodes, statusOfCode } from '../sql/status-codes.js';
import { Changes } from './changes.js';
import { flag, ordinaryLine, policyCode } from './codes.js';
import type { Context } from './context.js';
import { isDuplicateRow } from './errors.js';
import { holdLanesOf } from './line-lanes.js';
import { lineGone } from './lines.js';
import { insertEdges, type NewEdge } from './queries/dependents.js';
import { insertBodies, insertTags, laneOf, linesOf, memberOf, type NumberedJob } from './queries/enqueue.js';
import {
  deleteKeys,
  idempotencyKeyText,
  type KeyRow,
  keysOf,
  uniqueKeyText,
  writeKeys,
} from './queries/keys.js';
import { insertMembers, pinLines } from './queries/lines.js';
import { insertReady, type Placed, readyKey } from './queries/places.js';
import { countFinals, insertFinals } from './queries/settle.js';
import { hexId, hexText, int, list, type Sql, sql } from './sql.js';
import { type Holders, lockHolders } from './unique-keys.js';
import { wakeQueues } from './wake.js';

/** How often another process may write the same ids at the same moment. */
const mostCollisions = 5;

/** What a job of this call is born as. */
interface Birth extends NumberedJob {
  status: 'pending' | 'blocked' | 'buried' | 'cancelled';
  flags: number;
  readonly edges: NewEdge[];
}

export async function enqueueCarefully(
  context: Context,
  jobs: readonly NumberedJob[],
): Promise<EnqueueOutcome[]> {
  for (let collisions = 0; ; collisions += 1) {
    try {
      const { outcomes, woken } = await context.main.transaction('enqueue', async (tx) => {
        const changes = await Changes.begin(context, tx);
        const written = await new CarefulEnqueue(changes, jobs).run();
        return { outcomes: written, woken: changes.wokenQueues };
      });
      const pending = jobs
        .filter((_, index) => outcomes[index]?.outcome === 'created')
        .map(({ queueId }) => queueId);
      await wakeQueues(context, [...new Set([...(woken ?? []), ...pending])]);
      return outcomes;
    } catch (error) {
      if (!isDuplicateRow(error) || collisions === mostCollisions) throw error;
    }
  }
}

class CarefulEnqueue {
  readonly #changes: Changes;
  readonly #jobs: readonly NumberedJob[];
  readonly #births = new Map<string, Birth>();
  readonly #keys = new Map<string, KeyRow>();
  #known = new Set<string>();
  #parents = new Map<string, Placed>();
  #holders: Holders = new Map();

  constructor(changes: Changes, jobs: readonly NumberedJob[]) {
    this.#changes = changes;
    this.#jobs = jobs;
  }

  async run(): Promise<EnqueueOutcome[]> {
    await this.#readKnown();
    const fresh = this.#jobs.filter(({ job }) => !this.#known.has(idOf(job)));
    const own = new Set(fresh.map(({ job }) => idOf(job)));
    this.#parents = await this.#changes.lock(
      fresh
        .flatMap(({ job }) => job.after?.ids.map((id) => id.toLowerCase()) ?? [])
        .filter((id) => !own.has(id)),
    );
    const wanted = fresh.flatMap(({ job }) => keysOf(job, this.#changes.nowMs));
    this.#holders = await lockHolders(this.#changes, wanted, own);
    const outcomes = this.#jobs.map((job) => this.#enqueueOne(job));
    await this.#write(wanted);
    return outcomes;
  }

  async #readKnown(): Promise<void> {
    const { t } = this.#changes.context;
    const ids = list(this.#jobs.map(({ job }) => hexId(job.id)));
    // Index: primary.
    const rows = await this.#changes.readCommitted(sql`select id from ${t.jobs} where id in ${ids}`);
    this.#known = new Set(rows.map(([id]) => bytesToUuid(id as Buffer)));
  }

  #enqueueOne(numbered: NumberedJob): EnqueueOutcome {
    const { job } = numbered;
    const refusal = this.#whatStandsAgainst(job);
    if (refusal !== null) return refusal;
    const birth: Birth = { ...numbered, status: 'pending', flags: 0, edges: [] };
    this.#joinParents(birth);
    this.#births.set(idOf(job), birth);
    for (const key of keysOf(job, this.#changes.nowMs)) {
      this.#keys.set(key.key, key);
      // A job that is born final holds no key but a period and that of its idempotency.
      const isHeld = !isFinal(birth.status) || key.untilMs !== null || key.inputHash !== null;
      if (isHeld) this.#holders.set(key.key, key);
    }
    return { outcome: 'created', id: job.id };
  }

  /** The order of these checks is part of the seam. */
  #whatStandsAgainst(job: NewJob): EnqueueOutcome | null {
    if (this.#known.has(idOf(job)) || this.#births.has(idOf(job))) return { outcome: 'replayed', id: job.id };
    const { idempotency, unique } = job;
    const sent = idempotency === null ? undefined : this.#holders.get(idempotencyKeyText(idempotency.key));
    if (sent !== undefined) {
      const isSame = sent.inputHash === idempotency?.inputHash.toLowerCase();
      return { outcome: isSame ? 'replayed' : 'idempotency-conflict', id: sent.jobId };
    }
    const holder = unique === null ? undefined : this.#holders.get(uniqueKeyText(unique.key));
    if (holder !== undefined && !this.#hasPassed(holder)) return { outcome: 'duplicate', id: holder.jobId };
    const missing = job.after?.ids.find((id) => this.#statusOf(id.toLowerCase()) === undefined);
    return missing === undefined ? null : { outcome: 'parent-not-found', id: missing };
  }

  #hasPassed({ untilMs }: KeyRow): boolean {
    return untilMs !== null && untilMs <= this.#changes.nowMs;
  }

  #statusOf(id: string): 'live' | 'completed' | 'failed' | undefined {
    const birth = this.#births.get(id);
    if (birth !== undefined) return isFinal(birth.status) ? 'failed' : 'live';
    const parent = this.#parents.get(id);
    if (parent === undefined) return undefined;
    if (parent.final === null) return 'live';
    return statusOfCode[parent.final.status] === 'completed' ? 'completed' : 'failed';
  }

  #joinParents(birth: Birth): void {
    const { job, edges } = birth;
    if (job.after === null) return;
    const policy = job.after.onFailure;
    const parents = new Map(
      [...new Set(job.after.ids.map((id) => id.toLowerCase()))].map((id) => [id, this.#statusOf(id)]),
    );
    const hasFailed = policy !== 'run' && [...parents.values()].includes('failed');
    if (hasFailed) birth.status = policy === 'bury' ? 'buried' : 'cancelled';
    else if ([...parents.values()].includes('live')) birth.status = 'blocked';
    for (const [id, status] of parents) {
      // One that is born final waits for nothing any more, but its parents may not be purged under a live one.
      const isMet = status !== 'live' || hasFailed;
      edges.push({ parent: hexId(id), child: hexId(job.id), policy: policyCode[policy], isMet });
      const sibling = this.#births.get(id);
      if (sibling !== undefined) sibling.flags |= flag.followed;
    }
  }

  async #write(reserved: readonly KeyRow[]): Promise<void> {
    const { t } = this.#changes.context;
    const births = [...this.#births.values()];
    const edges = births.flatMap((birth) => birth.edges);
    const keys = [...this.#keys.values()];
    const tags = births.flatMap(({ job }) => job.tags.map((tag) => ({ tag, id: job.id })));
    // What was reserved for jobs that then were refused.
    const idle = reserved.filter(({ key }) => !this.#keys.has(key));
    const lined = births.filter(({ line }) => line !== ordinaryLine);
    await pinLined(this.#changes, lined);
    await this.#changes.tx.send(
      sql`do 0`,
      ...(births.length > 0 ? [insertBodies(t, births)] : []),
      ...(lined.length > 0 ? [insertMembers(t, lined.map(memberOf))] : []),
      ...(tags.length > 0 ? [insertTags(t, tags)] : []),
      ...this.#places(births),
      ...(edges.length > 0 ? [insertEdges(t, edges)] : []),
      ...this.#followParents(),
      ...(keys.length > 0 ? [writeKeys(t, keys)] : []),
      ...(idle.length > 0
        ? [
            deleteKeys(
              t,
              idle.map(({ key }) => key),
              idle.map(({ jobId }) => jobId),
            ),
          ]
        : []),
    );
  }

  #places(births: readonly Birth[]): Sql[] {
    const { t } = this.#changes.context;
    const pending = births.filter(({ status }) => status === 'pending');
    const blocked = births.filter(({ status }) => status === 'blocked');
    const ended = births.filter(({ status }) => isFinal(status));
    return [
      ...(pending.length > 0
        ? [
            insertReady(
              t,
              pending.map((birth) => this.#readyRow(birth)),
            ),
          ]
        : []),
      ...(blocked.length > 0
        ? [
            sql`insert into ${t.waiting} (id, queue_id, name_id, rnk, due, flags)
              values ${blocked.map((birth) => this.#waitingRow(birth))}`,
          ]
        : []),
      ...(ended.length > 0
        ? [
            insertFinals(
              t,
              ended.map((birth) => this.#finalRow(birth)),
            ),
            countFinals(
              t,
              ended.map(({ queueId, status }) => ({ queueId, status: statusCodes[status] })),
            ),
          ]
        : []),
    ];
  }

  #readyRow({ job, queueId, nameId, line, flags }: Birth): Parameters<typeof insertReady>[1][number] {
    return {
      id: job.id,
      queueId,
      nameId,
      line,
      rnk: 0 - job.priority,
      due: this.#dueOf(job),
      flags,
    };
  }

  #waitingRow({ job, queueId, nameId, flags }: Birth): Sql {
    return sql`(${hexId(job.id)}, ${queueId}, ${nameId}, ${0 - job.priority}, ${this.#dueOf(job)}, ${flags})`;
  }

  #finalRow({ job, queueId, nameId, status, flags }: Birth): Sql {
    const isRetained = job.retentionMs !== null && status !== 'buried';
    return sql`(${hexId(job.id)}, ${queueId}, ${nameId}, ${statusCodes[status]}, ${flags}, ${int(isRetained)},
      @now + ${isRetained ? (job.retentionMs ?? 0) : 0}, ${this.#dueOf(job)}, null, @now, null, null, 0,
      ${hexText('parent-failed')}, null)`;
  }

  #dueOf({ due }: NewJob): number {
    return 'atMs' in due ? due.atMs : this.#changes.nowMs + due.inMs;
  }

  /** Index: primary of ready and waiting, by_id of leases. */
  #followParents(): Sql[] {
    const { t } = this.#changes.context;
    const live = [...this.#parents.values()].filter(
      ({ final, flags }) => final === null && (flags & flag.followed) === 0,
    );
    return live.map((parent) =>
      parent.place === 'ready'
        ? sql`update ${t.ready} set flags = flags | ${flag.followed} where ${readyKey(parent)}`
        : sql`update ${t[parent.place]} set flags = flags | ${flag.followed} where id = ${hexId(parent.id)}`,
    );
  }
}

const idOf = ({ id }: NewJob): string => id.toLowerCase();

/** Their lines and lanes stay until the commit. */
async function pinLined(changes: Changes, lined: readonly NumberedJob[]): Promise<void> {
  if (lined.length === 0) return;
  const ids = linesOf(lined);
  const [pinned] = await changes.tx.send(pinLines(changes.context.t, ids));
  if (Number(pinned?.rows[0]?.[0]) !== ids.length) throw lineGone();
  await changes.tx.send(...(await holdLanesOf(changes, lined.map(laneOf))));
}
