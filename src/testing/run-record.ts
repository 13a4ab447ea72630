import type { AttemptEventFacts, MillraceEvents } from '../client/events.js';
import type { FailureRecord } from '../internal/failure.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { KitClock } from './kit-storage.js';
import type { JobRun } from './run-report.js';

/** Writes down the attempts of this process while it is open. */
export class RunRecord implements Disposable {
  readonly runs: JobRun[] = [];
  readonly #running = new Map<string, string>();
  readonly #unlisten: (() => void)[];

  constructor(events: TypedEvents<MillraceEvents>, clock: KitClock) {
    const dueIn = (delayMs: number): Date => new Date(clock.nowMs + delayMs);
    this.#unlisten = [
      events.on('job:started', ({ id, name }) => this.#running.set(id, name)),
      events.on('job:completed', (facts) => this.#add(facts, 'completed', {})),
      events.on('job:retrying', (facts) =>
        this.#add(facts, 'retrying', { failure: facts.failure, dueAt: dueIn(facts.delayMs) }),
      ),
      events.on('job:snoozed', (facts) => this.#add(facts, 'snoozed', { dueAt: dueIn(facts.delayMs) })),
      events.on('job:buried', (facts) =>
        this.#add(facts, 'buried', { failure: facts.failure, reason: facts.reason }),
      ),
      events.on('job:cancelled', (facts) => this.#add(facts, 'cancelled', { reason: facts.reason })),
    ];
  }

  /** What it has seen so far, in words, for a run that does not end. */
  describe(): string {
    const running = [...this.#running].map(([id, name]) => `${name} (${id})`);
    const counts = new Map<string, number>();
    for (const { name } of this.runs) counts.set(name, (counts.get(name) ?? 0) + 1);
    const done = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} × ${count}`);
    const isRunning = running.length === 0 ? 'nothing runs now' : `still running: ${running.join(', ')}`;
    return `${isRunning}; attempts that ended: ${done.length === 0 ? 'none' : done.join(', ')}`;
  }

  [Symbol.dispose](): void {
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
  }

  #add(
    { id, name, queue, attempt }: AttemptEventFacts,
    outcome: JobRun['outcome'],
    more: { failure?: FailureRecord | null; reason?: string | null; dueAt?: Date },
  ): void {
    const { failure = null, reason = null, dueAt = null } = more;
    this.#running.delete(id);
    this.runs.push({ id, name, queue, attempt, outcome, result: undefined, failure, reason, dueAt });
  }
}
