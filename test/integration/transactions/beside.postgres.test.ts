import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { engineAvailable } from '../../support/engines.js';
import { besideSuite } from './beside-suite.js';
import { postgresKinds } from './postgres-kinds.js';
import { openStage } from './stage.js';

const [raw] = postgresKinds;
if (raw === undefined) throw new Error('there are kinds of PostgreSQL');

besideSuite(raw);

describe.skipIf(!engineAvailable('postgres'))('[postgres] a transaction at REPEATABLE READ', () => {
  it('is ended by a job that came after its snapshot, and nothing of it is written', async () => {
    await using stage = await openStage(raw);
    const client = new pg.Client(stage.address);
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin isolation level repeatable read');
      await client.query('select count(*) from notes');
      const id = uuidv7();
      await stage.millrace.dispatch('note', 1, { id });
      await expect(stage.millrace.dispatch('note', 1, { id, tx: client })).rejects.toMatchObject({
        code: 'tx-aborted',
        details: { because: 'transaction-conflict' },
      });
      await expect(stage.millrace.dispatch('note', 2, { tx: client })).rejects.toMatchObject({
        code: 'tx-aborted',
      });
    } finally {
      await client.end();
    }
    expect((await stage.millrace.stats('default')).pending).toBe(1);
  });
});
