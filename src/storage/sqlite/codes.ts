import type { StopRequest } from '../claimed-job.js';
import type { FailedParentPolicy, UniqueScope } from '../new-job.js';

/** Values of `jobs.scope`; 0 = no unique key. */
export const scopeCodes = Object.freeze({ waiting: 1, active: 2, period: 3 }) satisfies Record<
  UniqueScope,
  number
>;

/** Values of `jobs.policy`; 0 = waits for nothing. */
export const policyCodes = Object.freeze({ bury: 1, cancel: 2, run: 3 }) satisfies Record<
  FailedParentPolicy,
  number
>;

/** Values of `jobs.stop`. */
export const stopCodes = Object.freeze({ cancel: 1, bury: 2, delete: 3 }) satisfies Record<
  StopRequest,
  number
>;

export const stopOfCode = (code: number | null): StopRequest | null =>
  code === null ? null : (stopRequests[code - 1] ?? null);

const stopRequests: readonly StopRequest[] = ['cancel', 'bury', 'delete'];

/** Bits of `jobs.tied`: what keeps a settle from being one plain statement. */
export const tiedBits = Object.freeze({ followed: 1, activeKey: 2, stopRequest: 4 });

/** Values of `jobs.line`. */
export const lines = Object.freeze({ ordinary: 0, alone: -1 });
