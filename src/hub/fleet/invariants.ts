/**
 * What must always hold of a fleet, looked at again and again. Nothing is mended here: each has its own part that does so,
 * and a breach means that this part failed. It is counted, and told once until it is over.
 */
import type { Storage } from '../../storage/storage.js';
import type { HubContext } from '../hub-context.js';
import type { Placement } from '../placement/placement.js';

/** Groups looked at in one round. */
const mostGroups = 20;
/** Pushes by the poll alone, within a round, that say that wake-ups do not come. */
const fewSwept = 10;

export class Invariants {
  readonly #context: HubContext;
  readonly #placement: Placement;
  #dueBefore = new Map<string, number>();
  #sweptBefore = 0;
  #pushedBefore = 0;
  readonly #broken = new Set<string>();

  constructor(context: HubContext, placement: Placement) {
    this.#context = context;
    this.#placement = placement;
  }

  /** Rejects as storage does. */
  async look(storage: Storage): Promise<void> {
    this.#judge('placement-by-poll-alone', this.#isOnlySwept(storage), {});
    const { leaseMs } = this.#context.settings;
    const [lease] = await storage.expired({ expiredForMs: leaseMs * 3, limit: 1 });
    this.#judge('lease-not-taken-back', lease !== undefined, { job: lease?.id });
    await this.#lookAtDue(storage);
  }

  #isOnlySwept(storage: Storage): boolean {
    const { sweptJobs, pushedJobs } = this.#context.metrics;
    const swept = sweptJobs - this.#sweptBefore;
    const pushed = pushedJobs - this.#pushedBefore;
    this.#sweptBefore = sweptJobs;
    this.#pushedBefore = pushedJobs;
    return storage.capabilities.push && swept >= fewSwept && swept === pushed;
  }

  /** Due work beside room that could take it, at two looks with nothing placed in between. */
  async #lookAtDue(storage: Storage): Promise<void> {
    const { budgets } = this.#context.settings;
    const due = new Map<string, number>();
    const stuck: string[] = [];
    for (const { key, terms, placed } of this.#placement.idleGroups().slice(0, mostGroups)) {
      const { queues, names, labels } = terms;
      const takes = [{ queues, names, limit: 1, start: 1 }];
      const { dueInMs } = await storage.peek({ takes, labels, budgets });
      if (dueInMs !== 0) continue;
      due.set(key, placed);
      if (this.#dueBefore.get(key) === placed) stuck.push(queues.join(','));
    }
    this.#dueBefore = due;
    this.#judge('due-beside-free-room', stuck.length > 0, { queues: stuck[0] });
  }

  #judge(name: string, isBroken: boolean, fields: Readonly<Record<string, unknown>>): void {
    const { metrics, logger } = this.#context;
    if (!isBroken) {
      this.#broken.delete(name);
      return;
    }
    metrics.alarms.add(name);
    if (this.#broken.has(name)) return;
    this.#broken.add(name);
    logger.warn(`invariant: ${name}`, fields);
  }
}
