import type { Context } from './context.js';

/** Wakes those who watch here, after the commit; null: whatever queue they watch. */
export async function wakeQueues(context: Context, queueIds: readonly number[] | null): Promise<void> {
  if (queueIds === null) return context.notifier.wake(null);
  if (queueIds.length === 0) return;
  await context.queues.load(queueIds);
  context.notifier.wake(queueIds.map((id) => context.queues.name(id)));
}
