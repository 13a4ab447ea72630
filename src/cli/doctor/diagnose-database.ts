import { maskUrl } from '../../internal/logger.js';
import { type Diagnosis, fine } from '../../storage/diagnosis.js';
import { shortDuration } from '../output/relative-time.js';
import type { Session } from '../session.js';

/** Open by now, so the engine's version and the schema were accepted. */
export function diagnoseDatabase({ storage, setup }: Session): Promise<Diagnosis[]> {
  const { server } = storage.capabilities;
  return Promise.resolve([
    fine('database', `${server} at ${maskUrl(setup.database)}`),
    fine('schema', 'fits this version'),
  ]);
}

const largestSkewMs = 2000;

/** Times of jobs come from the database; a difference shows where people compare them with their own clock. */
export async function diagnoseClock({ storage }: Session): Promise<Diagnosis[]> {
  const beforeMs = Date.now();
  const databaseMs = await storage.now();
  const tripMs = Date.now() - beforeMs;
  const skewMs = databaseMs - (beforeMs + tripMs / 2);
  const distanceMs = Math.max(Math.abs(skewMs) - tripMs / 2, 0);
  const text = `${shortDuration(distanceMs)} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine`;
  if (distanceMs < largestSkewMs) return [fine('clock', distanceMs < 10 ? 'agrees with this machine' : text)];
  const fix =
    'Let both machines follow the same time server: absolute times of dispatches mean the database’s clock';
  return [{ check: 'clock', status: 'warn', message: text, fix }];
}
