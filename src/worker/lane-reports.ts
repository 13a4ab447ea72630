import type { LaneReport } from '../storage/worker-record.js';
import type { Attempt } from './attempt.js';
import type { LaneSnapshot } from './lanes/lane.js';
import { monotonicMs } from './monotonic.js';

/** More would only make every heartbeat of a wide worker heavy. */
const jobsTold = 10;

/** All inline slots as one. */
export function inlineLane(lane: {
  readonly attempts: Iterable<Attempt>;
  readonly width: number;
  readonly jobsDone: number;
}): LaneReport {
  const attempts = [...lane.attempts].filter(({ definition }) => definition.lane === 'inline');
  const running = attempts.length;
  const longest = attempts.sort((a, b) => a.startedAtMs - b.startedAtMs).slice(0, jobsTold);
  const toEpoch = Date.now() - monotonicMs();
  return {
    kind: 'inline',
    number: 0,
    state: running === 0 ? 'idle' : 'busy',
    width: lane.width,
    running,
    jobs: longest.map(({ job, startedAtMs }) => ({
      id: job.id,
      name: job.name,
      attempt: job.attempts + 1,
      startedAtMs: Math.round(startedAtMs + toEpoch),
    })),
    pid: null,
    restarts: 0,
    jobsDone: lane.jobsDone,
    rssBytes: null,
    note: abandonedNote(attempts),
  };
}

/** A lane that is a process of its own. */
export function laneReport({ job, ...lane }: LaneSnapshot): LaneReport {
  return { ...lane, width: 1, running: job === null ? 0 : 1, jobs: job === null ? [] : [job] };
}

/** Handlers that go on although their attempt has ended keep their slots. */
function abandonedNote(attempts: readonly Attempt[]): string | null {
  const names = [...new Set(attempts.filter(({ isAbandoned }) => isAbandoned).map(({ job }) => job.name))];
  if (names.length === 0) return null;
  return `handlers that ignored their signal still hold slots: ${names.slice(0, 5).join(', ')}`;
}
