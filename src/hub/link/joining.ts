/**
 * From a hello to a welcome: register, take the place of older connections, take back what an ended incarnation held, and
 * compare what the worker holds with what storage says it holds. Only then may it get jobs.
 */
import { closeCodes, maxFrameBytes } from '../../protocol/link-terms.js';
import type { HelloMessage } from '../../protocol/worker-messages.js';
import type { HeldLease } from '../../storage/claimed-job.js';
import type { Storage } from '../../storage/storage.js';
import type { WorkerReport } from '../../storage/worker-record.js';
import { freshWorkerId, takeBackLeases } from '../../worker/registration.js';
import type { Absentees } from '../fleet/absentees.js';
import type { HubContext } from '../hub-context.js';
import type { Channel } from './channel.js';
import { LinkedWorker } from './linked-worker.js';
import { putBack } from './put-back.js';
import { reportOf } from './report-of.js';
import type { Roster } from './roster.js';

export interface JoinParts {
  readonly context: HubContext;
  readonly storage: Storage;
  readonly roster: Roster;
  readonly absentees: Absentees;
  readonly channel: Channel;
  readonly wantedId: string;
  readonly hello: HelloMessage;
}

const mostIds = 5;
const neverArrived = 'assigned, but it never arrived';

/** Null: a newer connection has its place, or this one has ended. Rejects as storage does. */
export async function join(parts: JoinParts): Promise<LinkedWorker | null> {
  const { context, storage, roster, absentees, channel, hello } = parts;
  const { report, epoch } = await register(parts);
  const orders = await storage.orders(report.id);
  const worker = new LinkedWorker({ context, storage, channel, report, epoch, orders, helloId: hello.id });
  if (!(await roster.admit(worker))) {
    channel.close(closeCodes.superseded, 'a newer connection of this worker took its place');
    return null;
  }
  try {
    if (absentees.end(hello.incarnation)) context.metrics.reconnects += 1;
    if (hello.ended !== null && report.id === parts.wantedId) await takeBack(parts, hello.ended);
    const held = await compare(parts, worker);
    if (channel.isOpen && roster.isCurrent(worker)) welcome(parts, worker, held);
    return worker;
  } catch (error) {
    roster.leave(worker);
    throw error;
  }
}

async function register({
  context,
  storage,
  wantedId,
  hello,
}: JoinParts): Promise<{ report: WorkerReport; epoch: number }> {
  const { hubId, settings, logger } = context;
  let report = reportOf(wantedId, hello, hubId);
  for (let tries = 1; ; tries += 1) {
    const ended = report.id === wantedId ? hello.ended : null;
    const { outcome, epoch } = await storage.register(report, settings.ttlMs, ended);
    if (outcome === 'registered' || tries === mostIds) return { report, epoch };
    const id = freshWorkerId();
    logger.warn(`another living worker is registered under the id ${report.id}; this one goes on as ${id}`);
    report = { ...report, id };
  }
}

/** Nobody renews for the one that has ended any more, so that its leases can be taken back. */
async function takeBack({ context, storage, roster, absentees }: JoinParts, ended: string): Promise<void> {
  absentees.end(ended);
  const old = roster.get(ended);
  if (old !== undefined) {
    old.channel.close(closeCodes.superseded, 'the worker was started anew');
    await old.idle();
  }
  const { leaseMs } = context.settings;
  await takeBackLeases({ storage, leaseMs, logger: context.logger }, ended);
}

/** Returns what both sides know of. What only storage knows was assigned on a connection that is no more. */
async function compare({ context, storage, hello }: JoinParts, worker: LinkedWorker): Promise<HeldLease[]> {
  const held = await storage.renew(hello.incarnation, context.settings.leaseMs);
  const named = new Set(hello.held.map(({ id, token }) => id + token));
  const known = held.filter(({ id, token }) => named.has(id + token));
  const lost = held.filter(({ id, token }) => !named.has(id + token));
  if (lost.length > 0) await putBack(context, storage, lost, neverArrived);
  worker.inventory.add(known);
  return known;
}

function welcome({ context, channel, hello }: JoinParts, worker: LinkedWorker, held: HeldLease[]): void {
  const { settings, hubId } = context;
  const { leaseMs, heartbeatMs, ttlMs, pingMs, silenceMs, maxPayloadBytes } = settings;
  const { adminState, recycleAsked, paused } = worker.orders;
  channel.send({
    type: 'welcome',
    re: hello.id,
    workerId: worker.id,
    hubId,
    epoch: worker.epoch,
    adminState,
    recycleAsked,
    paused: [...paused],
    held,
    leaseMs,
    heartbeatMs,
    ttlMs,
    pingMs,
    silenceMs,
    maxFrameBytes,
    maxPayloadBytes,
    nowMs: context.databaseNowMs(),
  });
}
