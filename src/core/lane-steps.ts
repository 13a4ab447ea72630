/*
 * What is done about a lane in which something goes wrong, from the smallest step to the largest: the next one is taken
 * where one does not help. `replace` is no cure: a process that is well makes room for a new one, as planned.
 */
export const laneSteps = [
  'stop-script',
  'close-page',
  'dispose-context',
  'kill-pages',
  'restart',
  'quarantine',
  'recycle-worker',
  'replace',
] as const;

export type LaneStep = (typeof laneSteps)[number];

/** A lane as the rule sees it. */
export interface LaneWellness {
  readonly isQuarantined: boolean;
  /** Since its worker started, at least once. */
  readonly wasWell: boolean;
}

/**
 * Whether a fresh worker may cure what its lanes can't: more than half of them are quarantined, and those had been well
 * here. What was never well since the worker started would not be in a fresh one, which would only start again and again.
 */
export function areLanesLost(lanes: readonly LaneWellness[]): boolean {
  return lanes.filter((lane) => lane.isQuarantined && lane.wasWell).length > lanes.length / 2;
}
