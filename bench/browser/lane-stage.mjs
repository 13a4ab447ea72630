/* One browser lane of ours without a worker around it, for what is measured of the lane itself. */
import { setTimeout as pause } from 'node:timers/promises';
import { measureGroup, membersOfGroup } from '../../dist/browser/chrome/group-members.js';
import { browserLaneSource } from '../../dist/browser/lane/browser-lane-source.js';
import { ChromeSupply } from '../../dist/browser/lane/chrome-supply.js';
import { TargetPolicy } from '../../dist/browser/net/target-policy.js';
import { PrivateTargets } from '../../dist/internal/private-targets.js';
import { Attempt } from '../../dist/worker/attempt.js';

const lookMs = 5;
const waitMs = 60_000;

export class LaneStage {
  #lane;
  #handlers = new Map();

  constructor(found) {
    const quiet = () => undefined;
    const ports = {
      run: async (attempt, members) => {
        try {
          await this.#handlers.get(attempt)(members);
          return { kind: 'completed', result: 'null' };
        } catch {
          // How it failed is told by how long it took.
          return { kind: 'retry' };
        }
      },
      killGraceMs: 5_000,
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      random: () => 0.5,
      onChange: quiet,
      onStep: quiet,
    };
    const supply = new ChromeSupply({ found, search: async () => found, onFound: quiet });
    const policy = new TargetPolicy({ privateTargets: PrivateTargets.parse('all') });
    [this.#lane] = browserLaneSource({ size: 1, supply, policy }).create(ports);
  }

  async start() {
    await this.#lane.start();
  }

  get pid() {
    return this.#lane.snapshot().pid ?? -1;
  }

  get state() {
    return this.#lane.state;
  }

  async run(handler) {
    const now = performance.now();
    const attempt = new Attempt(
      { id: `bench-${now}`, name: 'bench', attempts: 0 },
      { name: 'bench', timeoutMs: waitMs, upcast: [] },
      { claimedAtMs: now, startedAtMs: now },
    );
    this.#handlers.set(attempt, handler);
    const ending = await this.#lane.run(attempt);
    this.#handlers.delete(attempt);
    return ending;
  }

  /** @throws Error where that does not come to be */
  async until(condition) {
    const endMs = performance.now() + waitMs;
    while (!condition()) {
      if (performance.now() > endMs) throw new Error(`a lane is ${this.state}, and not what was awaited`);
      await pause(lookMs);
    }
  }

  async memoryMb() {
    return (await measureGroup(this.pid)).totalBytes / 1024 ** 2;
  }

  async stopPages() {
    const members = await membersOfGroup(this.pid);
    const { isRenderer } = await import('../../dist/browser/chrome/group-members.js');
    for (const { pid } of members) if (await isRenderer(pid)) process.kill(pid, 'SIGSTOP');
  }

  async stop() {
    await this.#lane.stop({ deadlineMs: 5_000 });
  }
}
