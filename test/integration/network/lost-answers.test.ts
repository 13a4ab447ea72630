import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../src/internal/errors.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import type { Storage } from '../../../src/storage/storage.js';
import { type Arrange, faultCases } from '../../conformance/fault-cases.js';
import { Stage } from '../../conformance/stage.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { type TcpProxy, tcpProxy } from '../../support/tcp-proxy.js';

/** A call that needs more pieces than this is not swept further. */
const mostPieces = 12;
/** What a job's way depends on; the same calls and the rest lose their answers by design in the conformance suite. */
const swept = [
  'enqueue',
  'claim',
  'markStarted',
  'renew',
  'settle',
  'exchange',
  'takeBack',
  'cancel of a running job',
  'delete',
];

for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] wrote, then the connection died`, () => {
    // One database for all: the cases keep to queues of their own.
    let database: TestEngine;
    let proxy: TcpProxy;
    let storage: Storage;
    beforeAll(async () => {
      database = await openEngine(engine);
      proxy = await tcpProxy(database.address);
      storage = await createStorage(proxy.url, { clock: database.clock, statementTimeoutMs: 5_000 });
      await storage.open();
    });
    afterAll(async () => {
      await storage.close();
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    });

    test.each(swept)(
      '%s is sent again after any of its answers was lost, and has happened once',
      async (name) => {
        const arrange = faultCases[name] as Arrange;
        const stage = new Stage(engine, () => database);
        const sound = await arrange(stage, stage.queue());
        await sound.call(storage);
        const wanted = comparable(await sound.look());
        for (let piece = 1; piece <= mostPieces; piece += 1) {
          const { call, look, answers } = await arrange(stage, stage.queue());
          const before = proxy.dropped;
          proxy.dropAnswers((nth) => nth === piece);
          const answer = await untilAnswered(() => call(storage));
          proxy.dropAnswers(null);
          expect(comparable(await look()), `the answer to piece ${piece} was lost`).toEqual(wanted);
          if (answers !== undefined) expect(answers).toContainEqual(answer);
          if (proxy.dropped > before) continue;
          expect(piece, 'pieces of the call').toBeGreaterThan(1);
          return;
        }
      },
    );
  });
}

/** Each failure must be one that says that repeating may help. */
async function untilAnswered(call: () => Promise<unknown>): Promise<unknown> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isMillraceError(error) || !error.retryable || tries >= 5) throw error;
    }
  }
}

/** Without what differs from one arrangement to the next by its very nature. */
function comparable(state: unknown): unknown {
  return JSON.parse(
    JSON.stringify(state ?? null)
      .replace(/"q-[0-9a-f]{16}"/g, '"queue"')
      .replace(/"oldestDueForMs":\d+/g, '"oldestDueForMs":0'),
  );
}
