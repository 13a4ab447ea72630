import { done, HOUR, type Stage, type Verdict } from './stage.js';
import { buried } from './verdicts.js';

/** At least two jobs of each status, and of two names; all of their ids. */
export async function jobsOfEveryStatus(stage: Stage, queue: string): Promise<string[]> {
  const parent = await stage.running(queue);
  const ids = [parent.id];
  const verdicts: Verdict[] = [done, buried, { kind: 'cancelled', reason: 'x' }];
  for (const name of ['work', 'other', 'work']) {
    for (const verdict of verdicts) {
      const job = await stage.running(queue, { name }, { names: [name] });
      await stage.settle(job, verdict);
      ids.push(job.id);
    }
    ids.push((await stage.running(queue, { name }, { names: [name] })).id);
    ids.push(await stage.add(queue, { name, after: { ids: [parent.id], onFailure: 'run' } }));
  }
  for (const [index, priority] of [0, 5, -5, 0, 100].entries()) {
    const due = index === 3 ? { inMs: HOUR } : { inMs: 0 };
    ids.push(await stage.add(queue, { name: index % 2 ? 'other' : 'work', priority, due }));
  }
  return ids;
}
