import type { PreparedClaim } from './claim-plan.js';
import type { ClaimedRow } from './claimed-rows.js';
import { laneKey, ordinaryKey, type Spring } from './springs.js';

/** Of each spring came as many as were asked for, or fewer, where another claim was faster. */
export function inChosenOrder(
  order: readonly Spring[],
  rows: readonly ClaimedRow[],
  takes: PreparedClaim['takes'],
): ClaimedRow[] {
  const bySpring = new Map<string, ClaimedRow[]>();
  const sorted = rows.toSorted((a, b) => a[2] - b[2] || a[3] - b[3] || Buffer.compare(a[0], b[0]));
  for (const row of sorted) {
    const [, queueId, rnk, , nameId] = row;
    const line = row[19];
    const take = takes.findIndex(
      ({ queueIds, nameIds }) => queueIds.includes(queueId) && nameIds.has(nameId),
    );
    const key = line > 0 ? laneKey({ queueId, line, rnk, nameId }) : ordinaryKey(take, queueId);
    const own = bySpring.get(key);
    if (own === undefined) bySpring.set(key, [row]);
    else own.push(row);
  }
  for (const own of bySpring.values()) own.reverse();
  return order.flatMap(({ key }) => {
    const row = bySpring.get(key)?.pop();
    return row === undefined ? [] : [row];
  });
}
