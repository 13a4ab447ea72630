import { expect, it } from 'vitest';
import { LaneBench } from '../../support/lane-bench.js';
import { membersOfGroups } from '../../support/process-groups.js';
import { grown, openResources } from '../../support/resources.js';
import { waitFor } from '../../support/wait-for.js';

/** Started, used, killed under a job, and stopped in every state. */
async function oneRound(): Promise<Set<number>> {
  const benches = Array.from({ length: 3 }, () => new LaneBench());
  const [first, second, third] = benches as [LaneBench, LaneBench, LaneBench];
  await Promise.all([first.started(), second.started()]);
  await first.run({ do: 'echo' });
  await second.run({ do: 'exit', code: 1 });
  void third.lane.start();
  await Promise.all(benches.map(({ lane }) => lane.stop({ deadlineMs: 5_000 })));
  return new Set(benches.flatMap(({ pids }) => [...pids]));
}

it('lanes that come and go leave nothing open and no process', { timeout: 120_000 }, async () => {
  await oneRound();
  const before = openResources();
  for (let round = 0; round < 8; round += 1) {
    const pids = await oneRound();
    expect(membersOfGroups(pids)).toEqual([]);
  }
  // Timers that only wait for what was killed to be gone are allowed their time.
  await waitFor(() => grown(before, /^handle Timeout/).length === 0, {
    describe: () => `nothing more to be open than before: ${grown(before, /^handle Timeout/).join('; ')}`,
  });
});
