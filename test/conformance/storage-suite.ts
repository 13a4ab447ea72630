import { afterAll, beforeAll, describe } from 'vitest';
import { claimSuite } from './claim.suite.js';
import { controlSuite } from './control.suite.js';
import { dependenciesSuite } from './dependencies.suite.js';
import { enqueueSuite } from './enqueue.suite.js';
import { faultsSuite } from './faults.suite.js';
import { inspectSuite } from './inspect.suite.js';
import { logSuite } from './log.suite.js';
import { purgeSuite } from './purge.suite.js';
import { recoverySuite } from './recovery.suite.js';
import { settleSuite } from './settle.suite.js';
import { type EngineFixture, type EngineUnderTest, Stage } from './stage.js';
import { textsSuite } from './texts.suite.js';
import { uniqueSuite } from './unique.suite.js';
import { watchSuite } from './watch.suite.js';
import { workersSuite } from './workers.suite.js';

export type { EngineFixture, EngineUnderTest } from './stage.js';

const areas = {
  enqueue: enqueueSuite,
  claim: claimSuite,
  settle: settleSuite,
  recovery: recoverySuite,
  control: controlSuite,
  dependencies: dependenciesSuite,
  unique: uniqueSuite,
  inspect: inspectSuite,
  texts: textsSuite,
  log: logSuite,
  workers: workersSuite,
  purge: purgeSuite,
  watch: watchSuite,
  faults: faultsSuite,
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
