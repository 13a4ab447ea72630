import { afterAll, beforeAll, describe } from 'vitest';
import { aloneSuite } from './alone.suite.js';
import { budgetsSuite } from './budgets.suite.js';
import { changeManySuite } from './change-many.suite.js';
import { claimSuite } from './claim.suite.js';
import { contentionSuite } from './contention.suite.js';
import { controlSuite } from './control.suite.js';
import { dependenciesSuite } from './dependencies.suite.js';
import { diedSuite } from './died.suite.js';
import { editSuite } from './edit.suite.js';
import { enqueueSuite } from './enqueue.suite.js';
import { exchangeSuite } from './exchange.suite.js';
import { failedParentsSuite } from './failed-parents.suite.js';
import { fairnessSuite } from './fairness.suite.js';
import { faultsSuite } from './faults.suite.js';
import { filesSuite } from './files.suite.js';
import { filterSuite } from './filter.suite.js';
import { hubLeasesSuite } from './hub-leases.suite.js';
import { hubsSuite } from './hubs.suite.js';
import { idempotencySuite } from './idempotency.suite.js';
import { inspectSuite } from './inspect.suite.js';
import { labelsSuite } from './labels.suite.js';
import { leasesSuite } from './leases.suite.js';
import { lifecycleSuite } from './lifecycle.suite.js';
import { limitsSuite } from './limits.suite.js';
import { logSuite } from './log.suite.js';
import { lostLeasesSuite } from './lost-leases.suite.js';
import { profilesSuite } from './profiles.suite.js';
import { purgeSuite } from './purge.suite.js';
import { racesSuite } from './races.suite.js';
import { recoverySuite } from './recovery.suite.js';
import { settleSuite } from './settle.suite.js';
import { type EngineFixture, type EngineUnderTest, Stage } from './stage.js';
import { statsSuite } from './stats.suite.js';
import { takesSuite } from './takes.suite.js';
import { textsSuite } from './texts.suite.js';
import { tokensSuite } from './tokens.suite.js';
import { uniqueSuite } from './unique.suite.js';
import { watchSuite } from './watch.suite.js';
import { watchLimitsSuite } from './watch-limits.suite.js';
import { workersSuite } from './workers.suite.js';

const areas = {
  enqueue: enqueueSuite,
  unique: uniqueSuite,
  idempotency: idempotencySuite,
  claim: claimSuite,
  alone: aloneSuite,
  settle: settleSuite,
  exchange: exchangeSuite,
  'lost leases': lostLeasesSuite,
  leases: leasesSuite,
  recovery: recoverySuite,
  control: controlSuite,
  edit: editSuite,
  'change many': changeManySuite,
  filter: filterSuite,
  dependencies: dependenciesSuite,
  'failed parents': failedParentsSuite,
  inspect: inspectSuite,
  stats: statsSuite,
  texts: textsSuite,
  log: logSuite,
  files: filesSuite,
  workers: workersSuite,
  hubs: hubsSuite,
  'hub leases': hubLeasesSuite,
  tokens: tokensSuite,
  purge: purgeSuite,
  watch: watchSuite,
  lifecycle: lifecycleSuite,
  races: racesSuite,
  faults: faultsSuite,
  limits: limitsSuite,
  fairness: fairnessSuite,
  budgets: budgetsSuite,
  labels: labelsSuite,
  takes: takesSuite,
  died: diedSuite,
  profiles: profilesSuite,
  contention: contentionSuite,
  'watch limits': watchLimitsSuite,
};

/** What every engine must do: the sentences of `src/storage/storage.ts`, one test each. */
export function storageSuite(engine: EngineUnderTest): void {
  describe(`[${engine.name}]`, () => {
    let fixture: EngineFixture | undefined;
    const stage = new Stage(engine.name, () => {
      if (fixture === undefined) throw new Error(`the ${engine.name} engine is not open`);
      return fixture;
    });
    beforeAll(async () => {
      fixture = await engine.open();
    });
    afterAll(async () => {
      await fixture?.[Symbol.asyncDispose]();
    });
    for (const [area, suite] of Object.entries(areas)) describe(area, () => suite(stage));
  });
}
