import { describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { mysqlKinds } from './mysql-kinds.js';
import { postgresKinds } from './postgres-kinds.js';
import { sqliteKinds } from './sqlite-kinds.js';
import { asHandle, note } from './stage.js';

const kinds = [...postgresKinds, ...sqliteKinds, ...mysqlKinds.slice(0, 1)];

for (const kind of kinds) {
  describe.skipIf(!engineAvailable(kind.engine))(
    `[${kind.engine}] a worker and the commit of ${kind.name}`,
    () => {
      it('is woken by it long before its poll', async () => {
        await using engine = await openEngine(kind.engine);
        await using user = await kind.open(engine.address);
        // MySQL pushes nothing: there the poll is what finds it.
        const poll = kind.engine === 'mysql' ? '1s' : '60s';
        await using millrace = new Millrace({ database: engine.address, jobs: [note], workerSleep: poll });
        await using producer = new Millrace({ database: engine.address });
        await producer.open();
        await using worker = millrace.worker();
        await worker.start();
        await waitFor(() => worker.idle().then(() => true), { describe: 'an idle worker' });
        const handle = await user.transaction(function* ({ tx, isSync }) {
          return asHandle(
            yield isSync ? producer.dispatchSync('note', 1, { tx }) : producer.dispatch('note', 1, { tx }),
          );
        });
        expect(await handle.result({ timeout: '10s' })).toEqual({ got: 1 });
      });
    },
  );
}
