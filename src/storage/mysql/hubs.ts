import { hasErrorCode } from '../../internal/errors.js';
import type { HubRecord, HubReport } from '../hub-record.js';
import type { Context } from './context.js';
import { deleteHub, readHubs, writeHub } from './queries/hubs.js';

export async function hubBeat(context: Context, hub: HubReport): Promise<void> {
  const row = { id: hub.id, report: JSON.stringify(hub) };
  await context.side.send('heartbeat of a hub', writeHub(context.t, row, context.now()));
}

export async function hubs(context: Context): Promise<HubRecord[]> {
  return (await hubRows(context)).map(([report, startedAt, heartbeatAt, now]) => ({
    ...(JSON.parse(report as string) as HubReport),
    startedAtMs: startedAt as number,
    heartbeatAtMs: heartbeatAt as number,
    silentForMs: Number(now) - (heartbeatAt as number),
  }));
}

/** Without the table, which this code still runs without, there are none. */
async function hubRows(context: Context): Promise<readonly (readonly unknown[])[]> {
  try {
    const [result] = await context.side.send('reading hubs', readHubs(context.t, context.now()));
    return result?.rows ?? [];
  } catch (error) {
    if (!hasHubs(context) && hasErrorCode(error, 'schema-missing')) return [];
    throw error;
  }
}

/** The migration that brings the table. */
const hubsSince = 2;

export const hasHubs = ({ applied }: Context): boolean => applied.version >= hubsSince;

export async function removeHub(context: Context, id: string): Promise<void> {
  await context.side.send('removing a hub', deleteHub(context.t, id));
}
