import type { PlannedJob } from './operation.js';
import type { Random } from './random.js';
import { halfPast, nextId, type World } from './world.js';

export function planJobs(random: Random, world: World): PlannedJob[] {
  const count = random.chance(0.6) ? 1 : random.between(2, 5);
  return Array.from({ length: count }, () => planJob(random, world));
}

function planJob(random: Random, world: World): PlannedJob {
  const isRepeat = world.ids.length > 0 && random.chance(0.06);
  const id = isRepeat ? random.pick(world.ids) : nextId(world);
  const after = planAfter(random, world);
  if (!isRepeat) world.ids.push(id);
  return {
    id,
    name: random.pick(world.names),
    queue: random.pick(world.queues),
    payload: random.pick(['null', '{"n":1}', '"\\u0000 \\ud800 😀"']),
    version: random.pick([1, 1, 2]),
    tags: random.chance(0.5) ? random.some(world.tags).sort() : [],
    priority: random.pick([0, 0, 0, 5, -5]),
    due: planDue(random),
    maxAttempts: random.between(1, 3),
    retentionMs: random.pick([null, null, null, 0, halfPast(3)]),
    unique: random.chance(0.35) ? planUnique(random, world) : null,
    idempotency: random.chance(0.12)
      ? { key: random.pick(world.idempotencyKeys), inputHash: random.pick(['a', 'b']).repeat(64) }
      : null,
    after,
    ...planBounds(random, world),
  };
}

/** Of the jobs that are bounded most have one thing that bounds them. */
function planBounds(random: Random, world: World): Pick<PlannedJob, 'limit' | 'cost' | 'requires'> {
  const isBounded = random.chance(0.5);
  const group = isBounded && random.chance(0.7) ? random.pick(world.groups) : null;
  return {
    limit:
      group === null
        ? null
        : { group, key: random.pick(world.keys), max: random.pick([null, 1, 1, 2, 2, 3]) },
    cost: isBounded && random.chance(0.3) ? random.between(2, 6) : 1,
    requires: isBounded && random.chance(0.2) ? random.some(world.labels).sort() : [],
  };
}

export function planDue(random: Random): PlannedJob['due'] {
  if (random.chance(0.6)) return { inMs: 0 };
  if (random.chance(0.5)) return { inMs: halfPast(random.between(0, 4)) };
  return { startPlusMs: halfPast(random.between(-2, 5)) };
}

function planUnique(random: Random, world: World): PlannedJob['unique'] {
  const scope = random.pick(['waiting', 'active', 'active', 'active', 'period'] as const);
  const periodMs = scope === 'period' ? halfPast(random.between(0, 6)) : 0;
  return { key: random.pick(world.uniqueKeys), scope, periodMs };
}

function planAfter(random: Random, world: World): PlannedJob['after'] {
  if (world.ids.length === 0 || !random.chance(0.35)) return null;
  const near = world.ids.slice(-6);
  const ids = Array.from({ length: random.between(1, 3) }, () =>
    random.chance(0.02)
      ? `${world.run}-0000-7000-8000-ffffffffffff`
      : random.pick(random.chance(0.8) ? near : world.ids),
  );
  return { ids, onFailure: random.pick(['bury', 'cancel', 'run'] as const) };
}
