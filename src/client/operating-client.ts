import type { ControlOutcome } from '../storage/settlement.js';
import type { WorkerChangeOutcome } from '../storage/worker-record.js';
import type { CreatedToken, CreateTokenOptions, RevokeOutcome, TokenListing } from './access-tokens.js';
import {
  type BulkEditOptions,
  type BulkKind,
  type BulkOptions,
  type BulkReport,
  changeWhere,
} from './bulk-control.js';
import type { PurgeOptions, RetryBuriedOptions, TransactionOption } from './control.js';
import type { EditContext, EditOptions } from './edit-options.js';
import type { AuditOptions, AuditPage, OperatorOptions } from './fleet-control.js';
import { type FleetRecycleReport, recycleFleet } from './fleet-recycle.js';
import type { RecycleFleetOptions } from './fleet-recycle-options.js';
import { LookingClient } from './looking-client.js';

/** What operators do with jobs, queues, workers and tokens. */
export abstract class OperatingClient extends LookingClient {
  /** Buried or cancelled: pending again, with a fresh set of attempts. Pending: due now. */
  retry(id: string, options?: TransactionOption): Promise<ControlOutcome> {
    return this.core.control.change('retry', id, options);
  }

  /**
   * Changes a job that waits: its input, priority, queue or due time. `not-allowed` while it runs. Its unique key stays
   * what it was, also one that was made of the input before. A new input must fit the schema of the job, where this
   * client knows it.
   *
   * @throws MillraceError `payload-invalid`, `payload-too-large`, `option-unknown`, `option-invalid`
   */
  edit(id: string, options: EditOptions, within?: TransactionOption): Promise<ControlOutcome> {
    return this.core.control.edit(id, options, { ...this.editContext, within });
  }

  /** Retries every job that fits, a thousand at a time; `dryRun` only counts and shows some. */
  retryMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('retry', options);
  }

  /** Cancels every job that fits; running ones are asked to stop. */
  cancelMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('cancel', options);
  }

  /** Puts every job that fits and has not ended aside for inspection; running ones are asked to stop. */
  buryMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('bury', options);
  }

  /** Deletes every job that fits; running ones are asked to stop. */
  deleteMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('delete', options);
  }

  /** Edits every waiting job that fits. */
  editMany(options: BulkEditOptions): Promise<BulkReport> {
    return this.#changeWhere('edit', options);
  }

  /** Retries every buried job; `duplicates` were left since another job holds their unique key. */
  retryBuried(options?: RetryBuriedOptions): Promise<{ retried: number; duplicates: number }> {
    return this.core.control.retryBuried(options);
  }

  /** Puts a job aside for inspection; a running one once it stops (`requested`). */
  bury(id: string, options?: TransactionOption): Promise<ControlOutcome> {
    return this.core.control.change('bury', id, options);
  }

  /** Calls a job off; a running one is asked to stop (`requested`). */
  cancel(id: string, options?: TransactionOption): Promise<ControlOutcome> {
    return this.core.control.change('cancel', id, options);
  }

  /** Removes a job with its log; a running one once it stops (`requested`). */
  delete(id: string, options?: TransactionOption): Promise<ControlOutcome> {
    return this.core.control.change('delete', id, options);
  }

  /** Keeps workers from taking jobs of this queue; what runs goes on. */
  pause(queue: string): Promise<void> {
    return this.core.control.setPaused(queue, true);
  }

  resume(queue: string): Promise<void> {
    return this.core.control.setPaused(queue, false);
  }

  isPaused(queue: string): Promise<boolean> {
    return this.core.control.isPaused(queue);
  }

  /** Deletes jobs that ended long ago, but never one that another still waits for; returns how many. */
  purge(options?: PurgeOptions): Promise<number> {
    return this.core.control.purge(options);
  }

  // ── operators of workers ──────────────────────────────────────────────────────────────────────────────────────
  /**
   * Lets a worker take no more jobs, until it is activated; what runs goes on, and the process stays. Kept under the id
   * of the worker over reconnects, restarts and silence. `not-found`: no such worker is known.
   */
  drainWorker(id: string, options?: OperatorOptions): Promise<WorkerChangeOutcome> {
    return this.core.fleet.change('drain', id, options);
  }

  /** Ends a drain or a standby. */
  activateWorker(id: string, options?: OperatorOptions): Promise<WorkerChangeOutcome> {
    return this.core.fleet.change('activate', id, options);
  }

  /** Lets a worker take only what no active one has taken for two polls. Kept as a drain is. */
  standbyWorker(id: string, options?: OperatorOptions): Promise<WorkerChangeOutcome> {
    return this.core.fleet.change('standby', id, options);
  }

  /** Asks a worker to finish what runs and to make room for a fresh process, or, embedded in a program, to start anew. */
  recycleWorker(id: string, options?: OperatorOptions): Promise<WorkerChangeOutcome> {
    return this.core.fleet.change('recycle', id, options);
  }

  /**
   * Recycles the whole fleet, some at a time: waits for each to come back before the next, and stops by itself where one
   * does not.
   */
  recycleFleet(options?: RecycleFleetOptions): Promise<FleetRecycleReport> {
    const { fleet, inspector } = this.core;
    return recycleFleet(
      {
        workers: () => inspector.workers(),
        change: (deed, id, operator) => fleet.change(deed, id, operator),
        note: (action, result, operator) => fleet.note(action, result, operator),
      },
      options,
    );
  }

  /** Removes the registration of a worker that is offline, and what operators wanted of it. `alive`: it is not offline. */
  forgetWorker(id: string, options?: OperatorOptions): Promise<WorkerChangeOutcome> {
    return this.core.fleet.change('forget', id, options);
  }

  /** What operators did to workers, and what came of it. Kept for 400 days. */
  audit(options?: AuditOptions): Promise<AuditPage> {
    return this.core.fleet.audit(options);
  }

  // ── tokens of hubs ────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Makes a token for who uses a hub. It is told this once: only its hash is kept.
   *
   * @throws MillraceError `option-invalid`, `option-unknown`
   *
   * @example
   * const { token } = await millrace.createToken({ role: 'worker', name: 'w1', expires: '30d' });
   */
  createToken(options: CreateTokenOptions): Promise<CreatedToken> {
    return this.core.tokens.create(options);
  }

  /** The tokens there are, also revoked and expired ones, newest first; of their secrets nothing. */
  tokens(): Promise<TokenListing[]> {
    return this.core.tokens.list();
  }

  /** Ends a token by its id: within two seconds it stops working on every hub, open sockets included. */
  revokeToken(id: string, options?: OperatorOptions): Promise<RevokeOutcome> {
    return this.core.tokens.revoke(id, options);
  }

  protected get editContext(): EditContext {
    const { definitions, settings } = this.core;
    return { definitions, maxPayloadBytes: settings.maxPayloadBytes };
  }

  #changeWhere(kind: BulkKind, options: unknown): Promise<BulkReport> {
    const { access } = this.core;
    return changeWhere(kind, options, { ...this.editContext, storage: () => access.get() });
  }
}
