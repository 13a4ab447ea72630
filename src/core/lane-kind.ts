/**
 * Where a job runs: in the worker itself, in a child process of its own, or in one that owns a Chrome. A worker has slots
 * of each kind; a job waits for one of its own kind and never takes another's.
 */
export const laneKinds = ['inline', 'process', 'browser'] as const;

export type LaneKind = (typeof laneKinds)[number];
