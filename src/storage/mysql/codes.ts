import type { StopRequest } from '../claimed-job.js';
import type { FailedParentPolicy, UniqueScope } from '../new-job.js';

/** Numbers that stand in the tables for words of the seam; part of the schema. Statuses: `sql/status-codes.ts`. */

/** `line` of ordinary jobs, and of those that only a claim with `alone` takes. Above 0: a row of `lines`. */
export const ordinaryLine = 0;
export const aloneLine = -1;

/** Bits of `flags`. A plain settle takes no job that is `followed`; `slotted` stands only on leases. */
export const flag = Object.freeze({ marked: 1, followed: 2, slotted: 4 } as const);

/** Kinds of gates. */
export const gateKind = Object.freeze({ key: 0, group: 1, queue: 2 } as const);

export const stopCode = Object.freeze({ cancel: 1, bury: 2, delete: 3 } as const satisfies Record<
  StopRequest,
  number
>);
const stops: readonly (StopRequest | null)[] = [null, 'cancel', 'bury', 'delete'];
export const stopOf = (code: number): StopRequest | null => stops[code] ?? null;

/** 0 stands for an idempotency key. */
export const scopeCode = Object.freeze({
  waiting: 1,
  active: 2,
  period: 3,
} as const satisfies Record<UniqueScope, number>);
export const idempotencyScope = 0;

export const policyCode = Object.freeze({
  run: 0,
  bury: 1,
  cancel: 2,
} as const satisfies Record<FailedParentPolicy, number>);
