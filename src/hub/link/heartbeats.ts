/** A heartbeat renews every lease of its worker and shows how it is; what storage says it holds goes back, and is compared. */
import { closeCodes } from '../../protocol/link-terms.js';
import type { WorkerStatusShape } from '../../protocol/worker-messages.js';
import type { HubContext } from '../hub-context.js';
import type { LinkedWorker, Orders } from './linked-worker.js';
import { putBack } from './put-back.js';
import { updatedReport } from './report-of.js';

const neverTold = 'leased to a worker that was never told';

/** `ordersOf`: what operators want of it, as last read. Rejects as storage does. */
export async function beat(
  context: HubContext,
  worker: LinkedWorker,
  message: { readonly id: number; readonly status: WorkerStatusShape },
  ordersOf: (worker: LinkedWorker) => Promise<Orders>,
): Promise<void> {
  const { storage, channel, inventory } = worker;
  worker.report = updatedReport(worker.report, message.status);
  noteOverfull(context, worker);
  const { mark } = inventory;
  const wasClaiming = worker.isClaiming;
  // Leases first: they are what others act on.
  const held = await storage.renew(worker.incarnation, context.settings.leaseMs);
  if (!(await isStillRegistered(context, worker))) return;
  const orphans = inventory.compare(held, mark, wasClaiming || worker.isClaiming);
  worker.orders = await ordersOf(worker);
  const { adminState, recycleAsked, paused } = worker.orders;
  channel.send({
    type: 'beat-ack',
    re: message.id,
    held,
    adminState,
    recycleAsked,
    paused: [...paused],
    nowMs: context.databaseNowMs(),
  });
  if (orphans.length === 0) return;
  context.metrics.alarms.add('lease-unknown-to-worker', orphans.length);
  await putBack(context, storage, orphans, neverTold);
}

async function isStillRegistered({ settings, logger }: HubContext, worker: LinkedWorker): Promise<boolean> {
  const { storage, report, epoch, channel } = worker;
  const { outcome } = await storage.heartbeat(report, epoch);
  if (outcome === 'ok') return true;
  if (outcome === 'superseded') {
    channel.close(closeCodes.superseded, 'a newer connection of this worker took its place');
    return false;
  }
  // A heartbeat that was under way when it said goodbye must not bring it back.
  if (worker.hasSaidGoodbye) return false;
  // Its registration was forgotten, as after a long outage of the database.
  const again = await storage.register(report, settings.ttlMs);
  if (again.outcome === 'registered') {
    worker.epoch = again.epoch;
    logger.info(`fleet: registered worker ${worker.id} anew`);
    return true;
  }
  // Another worker has its id by now: with a new hello it gets one of its own, and keeps its leases.
  channel.close(closeCodes.restart, 'its id is another worker’s by now');
  return false;
}

/** Law 14: what runs fits the lanes that exist. */
function noteOverfull({ metrics, logger }: HubContext, { id, report }: LinkedWorker): void {
  const width = report.lanes.reduce((sum, lane) => sum + lane.width, 0);
  if (report.lanes.length === 0 || report.running <= width) return;
  metrics.alarms.add('running-above-lanes');
  logger.warn('invariant: a worker runs more jobs than it has lanes', {
    worker: id,
    running: report.running,
    lanes: width,
  });
}
