import { jobStatuses } from '../../src/core/job-status.js';
import { planDue } from './generate-jobs.js';
import type { Operation, PlannedChange, PlannedEdit } from './operation.js';
import type { Random } from './random.js';
import type { World } from './world.js';

export function planEdit(random: Random, world: World): PlannedEdit {
  return {
    ...(random.chance(0.4) ? { payload: random.pick(['{"n":2}', `"${'long '.repeat(5_000)}"`]) } : {}),
    ...(random.chance(0.4) ? { priority: random.pick([0, 5, -5, 100]) } : {}),
    ...(random.chance(0.4) ? { due: planDue(random) } : {}),
    ...(random.chance(0.4) ? { queue: random.pick(world.queues) } : {}),
    ...(random.chance(0.2) ? { payload: '3', version: random.between(1, 3) } : {}),
  };
}

export function planChangeMany(random: Random, world: World): Operation {
  const kind = random.pick(['retry', 'bury', 'cancel', 'delete', 'edit'] as const);
  const change: PlannedChange = kind === 'edit' ? { kind, edit: planOneEdit(random, world) } : { kind };
  const near = random.some(world.ids.slice(-8));
  return {
    method: 'changeMany',
    change,
    ids: random.chance(0.1) ? [...near, `${world.run}-0000-7000-8000-ffffffffffff`] : near,
    status: random.chance(0.3) ? random.pick(jobStatuses) : null,
  };
}

/** Several jobs that fall due at the same moment stand in an order of milliseconds, which is each storage's own. */
function planOneEdit(random: Random, world: World): PlannedEdit {
  const { due: _due, ...edit } = planEdit(random, world);
  return random.chance(0.5)
    ? edit
    : { ...edit, due: { startPlusMs: random.between(-2, 3) * 60_000 + 30_000 } };
}
