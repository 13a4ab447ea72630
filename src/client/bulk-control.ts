/*
 * The same change for every job that fits a filter. Jobs are found page by page and changed a page at a time; each change
 * holds only while its job still has the status in which it was found. It is not one transaction: an error leaves what
 * was changed before it changed, and the same call again goes on with the rest.
 */
import type { JobStatus } from '../core/job-status.js';
import type { JobFilter, JobSummary } from '../storage/job-record.js';
import type { ControlChange, ControlOutcome } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';
import type { EditOptions } from './edit-options.js';
import { type EditContext, editFor, editKeys, readEdit } from './edit-options.js';
import { type JobListing, toListing } from './job-view.js';
import { filterOf, type JobsWhere, type ResolvedWhere, resolveWhere, whereKeys } from './jobs-where.js';
import { OptionProblems } from './option-problems.js';

export interface BulkOptions {
  /**
   * Which jobs; at least one thing must be given. Without a status: those that the change is made for, which are buried
   * and cancelled ones for a retry (pending ones only when asked for), all that have not ended for a cancel or a bury, waiting
   * ones for an edit, and all for a deletion.
   */
  readonly where: JobsWhere;
  /** Counts and shows, and changes nothing. @default false */
  readonly dryRun?: boolean | undefined;
}

export interface BulkEditOptions extends BulkOptions {
  /** What to change; a new input needs `where.name`, since it fits one kind of job. */
  readonly edit: EditOptions;
}

/** What came of a change of many jobs. */
export interface BulkReport {
  readonly dryRun: boolean;
  /** Jobs that fitted. */
  readonly matched: number;
  /** Jobs that are changed now; in a dry run 0. */
  readonly done: number;
  /** Running jobs that were asked to stop. */
  readonly requested: number;
  /** Jobs that had moved on since they were found, or whose unique key another one holds. */
  readonly skipped: number;
  readonly outcomes: Readonly<Partial<Record<ControlOutcome, number>>>;
  /** The first ten that fitted, as they were. */
  readonly sample: readonly JobListing[];
}

export type BulkKind = 'retry' | 'bury' | 'cancel' | 'delete' | 'edit';

const pageSize = 1000;
const sampleSize = 10;

/** In this order dependents come before what they wait for, so that each ends as itself. */
const changeable: Readonly<Record<BulkKind, readonly JobStatus[]>> = {
  retry: ['buried', 'cancelled', 'pending'],
  bury: ['blocked', 'pending', 'processing'],
  cancel: ['blocked', 'pending', 'processing'],
  delete: ['blocked', 'pending', 'processing', 'buried', 'cancelled', 'completed'],
  edit: ['blocked', 'pending'],
};

export interface BulkPorts extends EditContext {
  storage(): Promise<Storage>;
}

interface Plan {
  readonly kind: BulkKind;
  readonly where: ResolvedWhere;
  readonly statuses: readonly JobStatus[];
  readonly change: ControlChange;
  readonly isDryRun: boolean;
}

/** @throws MillraceError `option-unknown`, `option-invalid`, `payload-invalid`, and those of the database */
export async function changeWhere(kind: BulkKind, options: unknown, ports: BulkPorts): Promise<BulkReport> {
  const plan = await planOf(kind, options, ports);
  const storage = await ports.storage();
  const filter = await filterOf(plan.where, () => storage.now());
  return new BulkRun(storage, plan).run(filter);
}

async function planOf(kind: BulkKind, options: unknown, ports: BulkPorts): Promise<Plan> {
  const problems = new OptionProblems(`options of ${kind}Many`);
  const given = problems.takeObject(options);
  problems.checkKeys(given, kind === 'edit' ? ['where', 'dryRun', 'edit'] : ['where', 'dryRun']);
  const { dryRun = false } = given;
  if (typeof dryRun !== 'boolean') problems.add('option "dryRun": expected true or false');
  const wishes = problems.takeObject(given['where']);
  problems.checkKeys(wishes, whereKeys, 'where.');
  if (whereKeys.every((key) => wishes[key] === undefined)) {
    problems.add(
      `option "where": expected at least one of ${whereKeys.join(', ')}. All jobs are never meant`,
    );
  }
  const where = resolveWhere(wishes, problems, 'where.');
  const editGiven = kind === 'edit' ? problems.takeObject(given['edit']) : {};
  if (kind === 'edit') problems.checkKeys(editGiven, editKeys, 'edit.');
  const edit = kind === 'edit' ? readEdit(editGiven, problems) : null;
  const { name, status } = where.filter;
  if (edit?.hasInput === true && name === undefined)
    problems.add('option "edit.input": an input fits one kind of job, so "where.name" is needed with it');
  const possible = edit?.rest.due === undefined ? changeable[kind] : (['pending'] as const);
  if (status !== undefined && !possible.includes(status))
    problems.add(
      `option "where.status": a ${kind} is for jobs that are ${possible.join(', ')}, not ${status}`,
    );
  problems.throwIfAny();
  // A pending job is hastened by a retry only when it is meant.
  const usual = kind === 'retry' ? (['buried', 'cancelled'] as const) : possible;
  return {
    kind,
    where,
    statuses: status === undefined ? usual : [status],
    change:
      edit === null
        ? { kind: kind as 'retry' }
        : { kind: 'edit', edit: await editFor(edit, name ?? '', ports) },
    isDryRun: dryRun === true,
  };
}

class BulkRun {
  readonly #storage: Storage;
  readonly #plan: Plan;
  /** An edit may move a job to where it is found again. */
  readonly #edited = new Set<string>();
  readonly #outcomes: Partial<Record<ControlOutcome, number>> = {};
  readonly #sample: JobSummary[] = [];
  #matched = 0;

  constructor(storage: Storage, plan: Plan) {
    this.#storage = storage;
    this.#plan = plan;
  }

  async run(filter: JobFilter): Promise<BulkReport> {
    // A list by tag is one walk whatever the status; the others go by it.
    const filters =
      filter.tag === undefined ? this.#plan.statuses.map((status) => ({ ...filter, status })) : [filter];
    for (const each of filters) await this.#walk(each);
    const { done = 0, requested = 0 } = this.#outcomes;
    return {
      dryRun: this.#plan.isDryRun,
      matched: this.#matched,
      done,
      requested,
      skipped: this.#plan.isDryRun ? 0 : this.#matched - done - requested,
      outcomes: this.#outcomes,
      sample: this.#sample.map(toListing),
    };
  }

  async #walk(filter: JobFilter): Promise<void> {
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await this.#storage.jobs(
        filter,
        cursor === undefined ? { limit: pageSize } : { limit: pageSize, cursor },
      );
      cursor = page.next;
      const jobs = page.jobs.filter(
        ({ id, status }) => this.#plan.statuses.includes(status) && !this.#edited.has(id),
      );
      this.#matched += jobs.length;
      this.#sample.push(...jobs.slice(0, sampleSize - this.#sample.length));
      if (!this.#plan.isDryRun) await this.#changeAll(jobs);
    }
  }

  async #changeAll(jobs: readonly JobSummary[]): Promise<void> {
    const { change, statuses, kind } = this.#plan;
    if (kind === 'edit') for (const { id } of jobs) this.#edited.add(id);
    for (const status of statuses) {
      const ids = jobs.filter((job) => job.status === status).map(({ id }) => id);
      if (ids.length === 0) continue;
      for (const outcome of await this.#storage.changeMany({ change, ids, status }))
        this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
    }
  }
}
