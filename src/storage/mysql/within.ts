/*
 * The queue inside a transaction of the user's. Names and lanes get their numbers beforehand, on our own connections,
 * as for every dispatch: a row of theirs that is not yet committed would keep others waiting. Nothing is pushed after the
 * commit, which nobody here sees: workers find it by polling.
 */
import type { ControlOutcome, SettleOutcome } from '../settlement.js';
import type { TransactionQueue } from '../transaction/queue.js';
import { asyncHandle } from '../transaction/recognise.js';
import { changeMany } from './change-many.js';
import type { Context } from './context.js';
import { Enqueuer } from './enqueuing.js';
import { HeldFacts } from './held-facts.js';
import { job, ownNameOf } from './inspecting.js';
import { Notifier } from './notify.js';
import { settleFollowed } from './settling.js';
import { UserSession } from './user-session.js';

/** Jobs written by transactions that are under way, by the object the user passes. */
const touchedBy = new WeakMap<object, Set<string>>();
/** A connection that lives for ever is passed again and again. */
const mostTouched = 10_000;

export function within(tx: unknown, context: Context): TransactionQueue {
  const handle = asyncHandle(tx, 'mysql');
  const touched = touchedIn(handle.identity);
  const main = new UserSession(handle, context, touched);
  const foreign: Context = { ...context, main, held: new HeldFacts(), notifier: new Notifier() };
  return {
    async enqueue(jobs) {
      const outcomes = await new Enqueuer(foreign, true).enqueue(jobs);
      for (const { outcome, id } of outcomes) if (outcome === 'created') touched.add(id.toLowerCase());
      return outcomes;
    },
    async settle(settlement) {
      const [outcome] = await settleFollowed(foreign, [settlement]);
      return outcome as SettleOutcome;
    },
    async change(change, id) {
      const [outcome] = await changeMany(foreign, { change, ids: [id] });
      return outcome as ControlOutcome;
    },
    async nameOf(id) {
      // Ours first: what their transaction began to read before a job was committed it doesn't show them.
      return (await job(foreign, id))?.name ?? (await ownNameOf(foreign, id));
    },
  };
}

function touchedIn(identity: object): Set<string> {
  let touched = touchedBy.get(identity);
  if (touched === undefined || touched.size > mostTouched) {
    touched = new Set();
    touchedBy.set(identity, touched);
  }
  return touched;
}
