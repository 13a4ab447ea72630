import type { PreparedClaim } from './claim-plan.js';
import type { GateKeeper } from './gate-keeper.js';
import type { Line, Lines } from './lines.js';
import { laneKey } from './springs.js';
import type { SeenLane, Survey } from './survey.js';

/** Lanes that one round looks at: a quarter more than there are slots, since some may turn out full. */
const mostLanes = 256;
const fewestLanes = 64;
/** What a claim knows when it chooses. */
export interface LaneChoice {
  readonly survey: Pick<Survey, 'dueIn'>;
  readonly lines: Pick<Lines, 'line'>;
  readonly prepared: PreparedClaim;
  readonly keeper: Pick<GateKeeper, 'couldAfford'>;
  /** By id. */
  readonly paused: ReadonlySet<number>;
  /** Lanes that have nothing more to give to this claim. */
  readonly looked: ReadonlySet<string>;
  /** Jobs that a take may still get, those that wait in a buffer among them. */
  readonly placesIn: (take: number) => number;
  /** Slots of a take that are still free. */
  readonly roomIn: (take: number) => number;
}

/** A lane to look at, and the take that it is for. */
export type ChosenLane = readonly [take: number, lane: SeenLane, line: Line];

/** Lanes worth a look, those that most likely can go on first, and of these the ones served longest ago. */
export function chooseLanes(choice: LaneChoice): ChosenLane[] {
  const { prepared, roomIn } = choice;
  const open = openLanes(choice);
  const isFull = (lane: SeenLane, { limit }: Line): number =>
    limit?.max != null && lane.running >= limit.max ? 1 : 0;
  open.sort(
    ([, a, lineA], [, b, lineB]) =>
      isFull(a, lineA) - isFull(b, lineB) || a.rnk - b.rnk || a.served - b.served || a.due - b.due,
  );
  const room = prepared.takes.reduce((sum, _, take) => sum + Math.max(roomIn(take), 0), 0);
  return open.slice(0, Math.min(mostLanes, Math.max(fewestLanes, Math.ceil(room * 1.25))));
}

function openLanes({ survey, lines, prepared, keeper, paused, looked, placesIn }: LaneChoice): ChosenLane[] {
  const labels = new Set(prepared.request.labels);
  return prepared.takes.flatMap(({ queueIds, nameIds }, take) => {
    // Also with no slot left: before a job that could run, a take ends.
    if (placesIn(take) <= 0) return [];
    return queueIds
      .filter((id) => !paused.has(id))
      .flatMap((id) => survey.dueIn(id))
      .flatMap((lane) => {
        const line = lines.line(lane.line);
        const fits =
          line !== undefined &&
          nameIds.has(lane.nameId) &&
          !looked.has(laneKey(lane)) &&
          line.requires.every((label) => labels.has(label)) &&
          keeper.couldAfford(line, lane.queueId);
        return fits ? [[take, lane, line] as const] : [];
      });
  });
}
