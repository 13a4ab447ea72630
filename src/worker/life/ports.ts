import type { Attempt } from '../attempt.js';
import type { ContextPorts } from '../attempt-context.js';
import type { AttemptLog } from '../attempt-log.js';
import type { Executor, ExecutorOptions } from '../executor.js';
import type { LanePorts } from '../lanes/lane.js';
import type { LifeOptions } from './life-options.js';

/** What the contexts of handlers have of their worker. */
export function contextPorts(
  { host, membership }: LifeOptions,
  parts: { readonly log: AttemptLog; readonly renew: (attempt: Attempt) => Promise<boolean> },
): ContextPorts {
  const { storage } = membership;
  return {
    log: (line) => parts.log.add(line),
    dispatch: membership.dispatch,
    renew: parts.renew,
    settleIn: async (tx, settlement) => (await storage.within(tx)).settle(settlement),
    settleInSync: (tx, settlement) => storage.withinSync(tx).settle(settlement),
    wasSettled: async ({ job }) => (await storage.endings([job.id]))[0]?.status === 'completed',
    files: membership.files,
    maxPayloadBytes: host.settings.maxPayloadBytes,
    logger: host.logger,
  };
}

/** `now`: best knowledge of the database's clock, epoch ms. */
export function executorFacts(
  { host, identity }: LifeOptions,
  now: () => number,
): Omit<ExecutorOptions, 'ports'> {
  return {
    workerId: identity.id,
    maxPayloadBytes: host.settings.maxPayloadBytes,
    random: host.random ?? Math.random,
    now,
  };
}

/** What lanes have of their worker. */
export function lanePorts(
  { host, membership }: LifeOptions,
  parts: {
    readonly facts: Omit<ExecutorOptions, 'ports'>;
    readonly context: ContextPorts;
    readonly executor: Executor;
    readonly onChange: () => void;
    readonly onStep: LanePorts['onStep'];
  },
): LanePorts {
  const { facts, context, executor, onChange, onStep } = parts;
  return {
    ...facts,
    context,
    run: (attempt, added) => executor.run(attempt, added),
    enqueue: (jobs) => membership.storage.enqueue(jobs),
    killGraceMs: host.settings.killGraceMs,
    logger: host.logger,
    onChange,
    onStep,
  };
}
