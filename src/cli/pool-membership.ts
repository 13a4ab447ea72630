import { PoolMember, poolPlace } from '../worker/pool/pool-member.js';
import type { PoolPlace } from '../worker/pool/pool-messages.js';
import { longestStopMs } from '../worker/worker.js';
import type { Setup } from './session.js';
import { poolSizeOf } from './supervise.js';

/** The worker's part in the pool that started this process; null where none did. */
export function joinPool(
  setup: Setup,
  env: Readonly<Record<string, string | undefined>>,
): { readonly place: PoolPlace; readonly member: PoolMember } | null {
  const place = poolPlace(env);
  if (place === null) return null;
  const { values } = setup.settings;
  const member = new PoolMember();
  member.tellSetup({
    size: poolSizeOf(values),
    database: setup.database,
    isBehindHub: values.hubUrl.length > 0,
    queues: values.queue,
    handlers: setup.jobs.map(({ name }) => name),
    lanesPerWorker: values.concurrency,
    stopWithinMs: stopWithinMs(setup),
    scaleIntervalMs: values.workerPoolScaleIntervalMs,
    idleGraceMs: values.workerPoolIdleGraceMs,
    headroomBytes: values.resourceSystemMemoryHeadroomMb * 1024 ** 2,
    databaseTimeoutMs: values.databaseTimeoutMs,
  });
  return { place, member };
}

/** From TERM to the end of a worker, at most. */
export function stopWithinMs({ settings: { values } }: Setup): number {
  return values.stopTimeoutMs + longestStopMs;
}
