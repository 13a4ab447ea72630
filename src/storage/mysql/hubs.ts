import type { HubRecord, HubReport } from '../hub-record.js';
import type { Context } from './context.js';
import { deleteHub, readHubs, writeHub } from './queries/hubs.js';

export async function hubBeat(context: Context, hub: HubReport): Promise<void> {
  const row = { id: hub.id, report: JSON.stringify(hub) };
  await context.side.send('heartbeat of a hub', writeHub(context.t, row, context.now()));
}

export async function hubs(context: Context): Promise<HubRecord[]> {
  const [result] = await context.side.send('reading hubs', readHubs(context.t, context.now()));
  return (result?.rows ?? []).map(([report, startedAt, heartbeatAt, now]) => ({
    ...(JSON.parse(report as string) as HubReport),
    startedAtMs: startedAt as number,
    heartbeatAtMs: heartbeatAt as number,
    silentForMs: Number(now) - (heartbeatAt as number),
  }));
}

export async function removeHub(context: Context, id: string): Promise<void> {
  await context.side.send('removing a hub', deleteHub(context.t, id));
}
