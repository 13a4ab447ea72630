import type { Lease } from '../../src/storage/claimed-job.js';
import type { Settlement } from '../../src/storage/settlement.js';
import type { PlannedTakeBack } from './operation.js';
import type { Random } from './random.js';
import { halfPast, type World } from './world.js';

const brokeText = '[{"kind":"failed","error":{}},{"kind":"failed","error":{"message":"it Broke \\u0000"}}]';

export function planSettlements(random: Random, world: World): Settlement[] {
  return someLeases(random, world).map((lease, index) => planSettlement(random, lease, index));
}

export function planTakeBacks(random: Random, world: World): PlannedTakeBack[] {
  return someLeases(random, world).map((lease, index) => planTakeBack(random, lease, index));
}

/** Mostly the newest leases, now and then one that is long lost or was never given. */
function someLeases(random: Random, world: World): Lease[] {
  if (world.leases.length === 0) return [];
  const newest = world.leases.slice(-6);
  return Array.from({ length: random.between(1, 4) }, () => {
    const lease = random.pick(random.chance(0.85) ? newest : world.leases);
    return random.chance(0.04) ? { id: lease.id, token: random.pick(world.leases).token } : lease;
  });
}

/** Rows of one call wait for different times, so that their order among themselves is not the engine's to choose. */
function delayOf(random: Random, index: number): number {
  return random.chance(0.5) && index === 0 ? 0 : halfPast(index + 4 * random.int(2));
}

function planSettlement(random: Random, lease: Lease, index: number): Settlement {
  const kind = random.weighted({
    completed: 8,
    retry: 4,
    buried: 3,
    cancelled: 2,
    snoozed: 2,
    'put-back': 3,
    died: 2,
  });
  const delayMs = delayOf(random, index);
  const errors = random.pick(['[]', brokeText, '["😀 \\u0000"]']);
  switch (kind) {
    case 'completed': {
      const result = random.pick([null, '1', '"\\u0000 😀"']);
      return { ...lease, kind, result, ...(random.chance(0.1) ? { outcome: 'skipped' } : {}) };
    }
    case 'retry':
      return { ...lease, kind, delayMs, errors };
    case 'buried':
      return {
        ...lease,
        kind,
        reason: random.pick(['poison', 'attempts-exhausted', 'non-retriable'] as const),
        errors,
      };
    case 'cancelled':
      return { ...lease, kind, reason: random.pick([null, 'no', '😀']) };
    case 'snoozed':
      return { ...lease, kind, delayMs };
    case 'died':
      return { ...lease, kind, delayMs, alone: random.chance(0.4), errors };
    case 'put-back':
      return { ...lease, kind, delayMs, reason: random.pick(['drain', 'no memory']) };
  }
}

function planTakeBack(random: Random, lease: Lease, index: number): PlannedTakeBack {
  const kind = random.weighted({ lapsed: 3, died: 5, poison: 1, stopped: 3 });
  const stale = random.chance(0.08);
  const errors = random.pick(['[]', '[{"at":2,"kind":"died"}]']);
  switch (kind) {
    case 'lapsed':
    case 'stopped':
      return { ...lease, kind, stale };
    case 'died':
      return { ...lease, kind, stale, delayMs: delayOf(random, index), alone: random.chance(0.5), errors };
    case 'poison':
      return { ...lease, kind, stale, errors };
  }
}
