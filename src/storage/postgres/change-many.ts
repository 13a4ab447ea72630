/*
 * One change for many jobs, in one transaction: lock those that live and those that have ended, each in ascending id,
 * decide by what is then known and can't change, write each kind of change by one statement.
 */
import type { JobStatus } from '../../core/job-status.js';
import { isUuid } from '../../internal/uuid.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlChange, ControlOutcome, JobEdit } from '../settlement.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { hashOf } from './bounds.js';
import { statusOf, stopCode } from './codes.js';
import { type EndingTools, endJobs } from './endings.js';
import { type Followed, type LockedJob, stoppedAs } from './followed.js';
import { type Line, lineOf, register } from './line-registry.js';
import type { ControlQueries } from './queries/control.js';
import { intOf, textOf } from './statement.js';

const activeScope = 2;

export interface ManyChanges {
  readonly change: ControlChange;
  readonly ids: readonly string[];
  readonly status?: JobStatus;
}

export async function changeMany(
  followed: Followed,
  queries: ControlQueries,
  request: ManyChanges,
): Promise<ControlOutcome[]> {
  const ids = [...new Set(request.ids.map((id) => id.toLowerCase()).filter(isUuid))].sort();
  if (ids.length === 0) return request.ids.map(() => 'not-found');
  const outcomes = await followed.inTransaction(`${request.change.kind} of many`, async (tools) =>
    new Changer(tools, queries, await followed.lock(tools.tx, ids)).change(request, ids),
  );
  return request.ids.map((id) => outcomes.get(id.toLowerCase()) ?? 'not-found');
}

/** Ended jobs of these that may live again, with their keys taken. Those that are neither were no longer retriable. */
export async function revive(
  tools: EndingTools,
  queries: ControlQueries,
  ids: readonly string[],
): Promise<{ revived: Set<string>; duplicates: Set<string> }> {
  const { tx, offsetMs, awakened } = tools;
  const locked = await tx.run(queries.lockEnded, [uuidArray(ids)]);
  const keyed = new Map<string, string>();
  const revived = new Set<string>();
  for (const [id, scope, key] of locked) {
    if (intOf(scope) !== activeScope) revived.add(textOf(id));
    // Of several that want one key the lowest id gets it.
    else if (!keyed.has(textOf(key))) keyed.set(textOf(key), textOf(id));
  }
  if (keyed.size > 0) {
    const values = [textArray([...keyed.keys()]), uuidArray([...keyed.values()]), offsetMs()];
    for (const [job] of await tx.run(queries.retakeKeys, values)) revived.add(textOf(job));
  }
  if (revived.size > 0) {
    const terms = locked.flatMap(([id, , , text]) => (revived.has(textOf(id)) ? [text ?? null] : []));
    const values = [uuidArray([...revived]), offsetMs(), ...(await lineColumns(tools, terms))];
    for (const [queue] of await tx.run(queries.revive, values)) awakened.add(textOf(queue));
  }
  return { revived, duplicates: new Set(locked.map(([id]) => textOf(id)).filter((id) => !revived.has(id))) };
}

/** The lines that these terms have, kept until this transaction ends; one that was removed meanwhile is written anew. */
async function lineColumns(
  { tx, lines: queries, offsetMs }: EndingTools,
  list: readonly (string | null)[],
): Promise<unknown[]> {
  const terms = new Set(list.filter((text) => text !== null));
  const lines: Line[] = [];
  if (terms.size > 0) {
    lines.push(...(await tx.run(queries.keep, [textArray([...terms].map(hashOf))])).map(lineOf));
    for (const line of lines) terms.delete(line.terms);
    if (terms.size > 0) lines.push(...(await register(tx, queries, [...terms], offsetMs())));
  }
  return [
    textArray(lines.map((line) => line.terms)),
    plainArray(lines.map((line) => line.id)),
    plainArray(lines.map((line) => line.gate)),
    plainArray(lines.map((line) => line.groupId)),
  ];
}

class Changer {
  readonly #tools: EndingTools;
  readonly #queries: ControlQueries;
  readonly #live: ReadonlyMap<string, LockedJob>;
  readonly #outcomes = new Map<string, ControlOutcome>();

  constructor(tools: EndingTools, queries: ControlQueries, live: ReadonlyMap<string, LockedJob>) {
    this.#tools = tools;
    this.#queries = queries;
    this.#live = live;
  }

  async change(
    { change, status }: ManyChanges,
    ids: readonly string[],
  ): Promise<Map<string, ControlOutcome>> {
    const statuses = await this.#statuses(ids);
    for (const [id, found] of statuses) {
      if (status === undefined || found === status) continue;
      this.#outcomes.set(id, 'not-allowed');
      statuses.delete(id);
    }
    if (change.kind === 'retry') await this.#retry(statuses);
    else if (change.kind === 'edit') await this.#edit(statuses, change.edit);
    else await this.#stop(statuses, change.kind);
    return this.#outcomes;
  }

  /** Locked after what lives: a job that ended while we waited for it is in history by now. */
  async #statuses(ids: readonly string[]): Promise<Map<string, JobStatus>> {
    const statuses = new Map<string, JobStatus>();
    for (const [id, job] of this.#live) statuses.set(id, statusOf(job.status));
    const others = ids.filter((id) => !this.#live.has(id));
    if (others.length === 0) return statuses;
    for (const [id, status] of await this.#tools.tx.run(this.#queries.lockFinal, [uuidArray(others)]))
      statuses.set(textOf(id), statusOf(intOf(status)));
    return statuses;
  }

  #answer(ids: Iterable<string>, outcome: ControlOutcome): void {
    for (const id of ids) this.#outcomes.set(id, outcome);
  }

  async #retry(statuses: ReadonlyMap<string, JobStatus>): Promise<void> {
    const { tx, offsetMs, awakened } = this.#tools;
    const pending = having(statuses, ['pending']);
    const ended = having(statuses, ['buried', 'cancelled']);
    this.#answer(having(statuses, ['blocked', 'processing', 'completed']), 'not-allowed');
    if (pending.length > 0) {
      for (const [queue] of await tx.run(this.#queries.hastenMany, [uuidArray(pending), offsetMs()]))
        awakened.add(textOf(queue));
      this.#answer(pending, 'done');
    }
    if (ended.length === 0) return;
    const { revived, duplicates } = await revive(this.#tools, this.#queries, ended);
    this.#answer(revived, 'done');
    this.#answer(duplicates, 'duplicate');
  }

  async #edit(statuses: ReadonlyMap<string, JobStatus>, edit: JobEdit): Promise<void> {
    this.#answer(having(statuses, ['completed', 'buried', 'cancelled']), 'already-final');
    this.#answer(having(statuses, ['processing', 'blocked']), 'not-allowed');
    const open = having(statuses, edit.due === undefined ? ['pending', 'blocked'] : ['pending']);
    this.#answer(open, 'done');
    if (open.length === 0) return;
    const { tx, offsetMs, awakened } = this.#tools;
    const { payload = null, version = null, priority, queue = null, due } = edit;
    const rank = priority === undefined ? null : 0 - priority;
    if (queue !== null || rank !== null)
      await tx.run(this.#queries.addKindsOf, [uuidArray(open), queue, rank]);
    const inMs = due !== undefined && 'inMs' in due ? Math.round(due.inMs) : null;
    const atMs = due !== undefined && 'atMs' in due ? Math.round(due.atMs) : null;
    const values = [
      uuidArray(open),
      payload,
      payload === null ? null : version,
      rank,
      queue,
      inMs,
      atMs,
      offsetMs(),
    ];
    for (const [name] of await tx.run(this.#queries.edit, values)) awakened.add(textOf(name));
  }

  async #stop(statuses: ReadonlyMap<string, JobStatus>, request: StopRequest): Promise<void> {
    const { tx, endings } = this.#tools;
    const running = having(statuses, ['processing']);
    const waiting = having(statuses, ['pending', 'blocked']);
    const ended = having(statuses, ['completed', 'buried', 'cancelled']);
    if (running.length > 0) await tx.run(this.#queries.requestStops, [uuidArray(running), stopCode[request]]);
    this.#answer(running, 'requested');
    this.#answer(ended, request === 'delete' ? 'done' : 'already-final');
    if (request === 'delete' && ended.length > 0) await tx.run(endings.remove, [uuidArray(ended)]);
    this.#answer(waiting, 'done');
    await endJobs(
      this.#tools,
      waiting.map((id) => ({
        id,
        byLease: false,
        isFollowed: this.#live.get(id)?.isFollowed === true,
        ...stoppedAs(request),
      })),
    );
  }
}

function having(statuses: ReadonlyMap<string, JobStatus>, wanted: readonly JobStatus[]): string[] {
  return [...statuses].flatMap(([id, status]) => (wanted.includes(status) ? [id] : []));
}
