import type { Context } from './context.js';

/** Wakes those who watch here, after the commit. */
export async function wakeQueues(context: Context, queueIds: readonly number[]): Promise<void> {
  if (queueIds.length === 0) return;
  await context.queues.load(queueIds);
  context.notifier.wake(queueIds.map((id) => context.queues.name(id)));
}
