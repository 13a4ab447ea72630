import type { LaneKind } from '../../core/lane-kind.js';
import { inlineLane, laneReport } from '../lane-reports.js';
import type { LaneGroup } from '../lanes/lane-group.js';
import type { WorkerStatus } from '../link/link.js';
import type { Runner } from '../runner.js';
import type { LifeOptions } from './life-options.js';

export interface ReportParts {
  readonly runner: Pick<Runner, 'attempts' | 'size'>;
  readonly lanes: readonly LaneGroup[];
  readonly isServing: (kind: LaneKind) => boolean;
  /** Names that are not admitted for now, with why. */
  readonly notAdmitted: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a worker says of itself with every heartbeat. */
export function lifeReport(options: LifeOptions, parts: ReportParts): WorkerStatus {
  const { lifecycle, usage, counts, inlineWidth, pulse } = options;
  const { next } = options.lanesWatch;
  const { runner, lanes, details } = parts;
  return {
    ...lifecycle(),
    running: runner.size,
    lanes: [
      inlineLane({ attempts: runner.attempts, width: inlineWidth, jobsDone: counts.ended }),
      ...lanes.flatMap((group) => group.snapshots().map(laneReport)),
    ],
    jobsDone: counts.ended,
    usage: usage.read(pulse.peakLagMs),
    details: {
      ...details,
      ...laneFacts(options),
      ...barred(options, parts),
      ...(next === null ? {} : { lanesNext: next }),
    },
  };
}

/** By kind. */
function laneFacts({ laneSources }: LifeOptions): Record<string, unknown> {
  return Object.fromEntries(
    laneSources.flatMap(({ kind, facts }) => (facts === undefined ? [] : [[kind, facts]])),
  );
}

/** Handlers whose jobs do not start here for now, for `why`; nothing where all do. */
function barred(
  { host }: LifeOptions,
  { notAdmitted, isServing }: ReportParts,
): Record<string, Readonly<Record<string, string>>> {
  const kinds = [...host.definitions].map(([name, { lane }]) => [name, lane] as const);
  const withoutLane = Object.fromEntries(kinds.filter(([, kind]) => !isServing(kind)));
  return {
    ...(Object.keys(notAdmitted).length === 0 ? {} : { notAdmitted }),
    ...(Object.keys(withoutLane).length === 0 ? {} : { withoutLane }),
  };
}
