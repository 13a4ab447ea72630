import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { quoted } from '../../../src/storage/postgres/migrate.js';
import { claimQueries } from '../../../src/storage/postgres/queries/claim.js';
import { controlQueries } from '../../../src/storage/postgres/queries/control.js';
import { enqueueQueries } from '../../../src/storage/postgres/queries/enqueue.js';
import { inspectQueries } from '../../../src/storage/postgres/queries/inspect.js';
import { logQueries } from '../../../src/storage/postgres/queries/log.js';
import { recoverQueries } from '../../../src/storage/postgres/queries/recover.js';
import { endingQueries, settleQueries } from '../../../src/storage/postgres/queries/settle.js';
import type { Statement } from '../../../src/storage/postgres/statement.js';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';

const schema = quoted('millrace');
const claims = claimQueries(schema);
const enqueues = enqueueQueries(schema);
const settles = settleQueries(schema);
const endings = endingQueries(schema);
const recovers = recoverQueries(schema);
const controls = controlQueries(schema);
const inspects = inspectQueries(schema);
const logs = logQueries(schema);

const id = uuidv7();
const ids = `{${id}}`;
const token = 'ab'.repeat(16);
const claimValues = [token, 'w', 45_000, '{q1,q2}', '{work,other}', 200, 10, 0, 0];
const jobArrays = [ids, '{q1}', '{work}', '{0}', '{0}', '{null}', '{1}', '{3}', '{null}'];

/** Every statement that runs per job, per batch, per poll or per heartbeat. */
const hot: readonly (readonly [Statement, readonly unknown[]])[] = [
  [claims.claim, claimValues],
  [claims.settle, [ids, `{${token}}`, '{1}', 0]],
  [claims.exchange, [...claimValues, ids, `{${token}}`, '{1}']],
  [claims.markStarted, [ids, `{${token}}`]],
  [claims.renew, [token, token, 45_000, 0]],
  [claims.held, [token, token]],
  [claims.heldSizes, [token]],
  [claims.heldPart, [token, ids]],
  [claims.peek, ['{q1,q2}', '{work}', 0]],
  [enqueues.insertOne, [id, 'q1', 'work', 0, 0, null, '1', 3, null, 0, 1]],
  [enqueues.insertMany, [...jobArrays, 0, '{1}']],
  [enqueues.knownIds, [ids]],
  [enqueues.lockParents, [ids]],
  [enqueues.markFollowed, [ids]],
  [enqueues.endedStatus, [ids]],
  [enqueues.keyHolders, ['{1}', '{k}']],
  [enqueues.assignKeys, ['{1}', '{k}', ids, '{null}', '{null}', 0]],
  [enqueues.returnKeys, ['{1}', '{k}']],
  [settles.putBack, [ids, `{${token}}`, '{0}', '{1}', '{null}', '{null}', 0]],
  [settles.lockJobs, [ids]],
  [settles.endedBy, [ids]],
  [endings.end, [ids, '{3}', '{null}', '{t}', '{0}', '{0}', '{0}', '{null}', '{1}', '{null}', 0]],
  [endings.remove, [ids]],
  [endings.meet, [ids]],
  [endings.release, [ids]],
  [recovers.expired, [0, 0, 100, null, null]],
  [recovers.returnToPending, [ids, '{0}', '{1}', '{0}', '{f}', '{null}', 0]],
  [recovers.stranded, [100]],
  [recovers.openParents, [ids]],
  [controls.hasten, [id, 0]],
  [controls.hastenMany, [ids, 0]],
  [controls.lockFinal, [ids]],
  [controls.addKindsOf, [ids, 'q2', 5]],
  [controls.edit, [ids, '2', 1, 5, 'q2', 0, null, 0]],
  [controls.requestStops, [ids, 1]],
  [controls.lockEnded, [ids]],
  [controls.revive, [ids, 0]],
  [controls.buriedIds, ['{q1,q2}', null, 100]],
  [controls.requestStop, [id, 1]],
  [controls.statusOf, [id]],
  [controls.purgeable, [3, 0, 0, 100]],
  [controls.purge, [ids, 3, 0]],
  [inspects.job, [id]],
  [inspects.endings, [ids]],
  [inspects.processing, [null, null, null, 100, false]],
  [inspects.pending, ['q1', null, null, null, null, 100, false]],
  [inspects.blocked, ['{q1,q2}', null, 100, true]],
  [inspects.ended, ['{q1,q2}', 3, null, 100, true]],
  [inspects.tagged, ['t1', id, 100, true]],
  [inspects.ahead, [id, 0]],
  [logs.append, [ids, `{${token}}`, '{1}', '{log}', '{info}', '{x}', 0, 1_000, 262_144]],
  [logs.page, [id, 0, 0, 100]],
];

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Subplan Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

const jobTables = new Set(['jobs', 'history', 'dependencies', 'keys', 'logs', 'tags']);
/** These read all running, or all blocked jobs, which is what they are for; nothing else may read an index as a whole. */
const wholeIndexes = new Set(['jobs_lease', 'jobs_blocked']);

describe.skipIf(!serverAvailable('postgres'))('[postgres] plans', () => {
  let database: TestDatabase;
  let storage: PostgresStorage;

  beforeAll(async () => {
    database = await testDatabase('postgres');
    storage = new PostgresStorage({ url: database.url, migrate: 'auto' });
    await storage.open();
  });
  afterAll(async () => {
    await storage?.close();
    await database?.[Symbol.asyncDispose]();
  });

  /** A session as ours is, or as one behind a pooler. */
  const session = async (settings: string): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url, options: settings });
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const ownSettings = '-c jit=off -c enable_seqscan=off -c enable_bitmapscan=off';

  const planOf = async (
    client: pg.Client,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<PlanNode> => {
    const list = values.map((value) => (value === null ? 'null' : client.escapeLiteral(String(value))));
    const types = values.map(() => 'unknown').join(', ');
    await client.query(`prepare p${values.length > 0 ? `(${types})` : ''} as ${statement.text}`);
    try {
      const result = await client.query(`explain (format json) execute p(${list.join(', ')})`);
      return (result.rows[0]['QUERY PLAN'] as [{ Plan: PlanNode }])[0].Plan;
    } finally {
      await client.query('deallocate p');
    }
  };

  const problemsOf = (name: string, node: PlanNode): string[] => {
    const problems = (node.Plans ?? []).flatMap((child) => problemsOf(name, child));
    const table = node['Relation Name'] ?? '';
    const index = node['Index Name'] ?? '';
    if (node['Node Type'] === 'Seq Scan' && jobTables.has(table))
      problems.push(`${name}: Seq Scan on ${table}`);
    const isWhole = node['Node Type'].startsWith('Index') && node['Index Cond'] === undefined;
    if (isWhole && jobTables.has(table) && !wholeIndexes.has(index))
      problems.push(`${name}: all of ${index}`);
    return problems;
  };

  const problemsOfAll = async (client: pg.Client): Promise<string[]> => {
    const problems: string[] = [];
    for (const [statement, values] of hot) {
      problems.push(...problemsOf(statement.name, await planOf(client, statement, values)));
    }
    return problems;
  };

  const seed = async (count: number): Promise<void> => {
    const client = await session('');
    await client.query(
      `insert into millrace.kinds values ('q1', 0, 'work'), ('q1', 0, 'other'), ('q2', 0, 'work') on conflict do nothing`,
    );
    await client.query(
      `insert into millrace.jobs (id, due, created_at, line, max_attempts, status, rank, queue, name, payload)
         select gen_random_uuid(), g, g, 0, 3, case when g % 500 = 0 then 2 else 0 end, 0, 'q' || (1 + g % 2),
                case when g % 3 = 0 then 'other' else 'work' end, '1' from generate_series(1, $1::int) g`,
      [count],
    );
    await client.query(
      `update millrace.jobs set status = 1, token = gen_random_uuid(), lease_until = 0 where due <= 200 and status = 0`,
    );
    await client.query(
      `insert into millrace.history (id, due, created_at, finished_at, line, max_attempts, attempts, deaths, lapses, leases, status, rank,
                                     unique_scope, on_failure, queue, name, payload)
         select gen_random_uuid(), g, g, g, 0, 3, 0, 0, 0, 1, 3 + g % 3, 0, 0, 0, 'q1', 'work', '1' from generate_series(1, $1::int) g`,
      [count],
    );
    await client.query(
      `insert into millrace.dependencies select gen_random_uuid(), gen_random_uuid(), false from generate_series(1, $1::int / 10)`,
      [count],
    );
    await client.query(
      `insert into millrace.keys select 1, 'k' || g, gen_random_uuid() from generate_series(1, $1::int / 10) g`,
      [count],
    );
    await client.query(
      `insert into millrace.tags select 't' || g % 3, gen_random_uuid() from generate_series(1, $1::int / 10) g`,
      [count],
    );
    await client.query(
      `insert into millrace.logs select gen_random_uuid(), g, 1, 1, 'log', 'info', 'x' from generate_series(1, $1::int / 10) g`,
      [count],
    );
    await client.end();
  };

  const clear = async (): Promise<void> => {
    const client = await session('');
    await client.query(
      'truncate millrace.jobs, millrace.history, millrace.dependencies, millrace.keys, millrace.logs, millrace.tags',
    );
    await client.query('vacuum analyze');
    await client.end();
  };

  test('no statement scans a job table: in our own session, with no, stale and fresh statistics', async () => {
    const client = await session(ownSettings);
    try {
      expect(await problemsOfAll(client)).toEqual([]);
      await client.query('set plan_cache_mode = force_generic_plan');
      expect(await problemsOfAll(client)).toEqual([]);
      // The plan of an idle worker, made while the tables were empty and known to be, is kept when many rows come.
      await clear();
      expect(await problemsOfAll(client)).toEqual([]);
      // A drained table: many pages, no rows.
      await seed(20_000);
      expect(await problemsOfAll(client)).toEqual([]);
      await client.query('delete from millrace.jobs');
      await client.query('vacuum (analyze, truncate false) millrace.jobs');
      expect(await problemsOfAll(client)).toEqual([]);
      await clear();
      await seed(20_000);
      await client.query('analyze');
      expect(await problemsOfAll(client)).toEqual([]);
      await client.query('set plan_cache_mode = force_custom_plan');
      expect(await problemsOfAll(client)).toEqual([]);
    } finally {
      await client.end();
    }
  });

  test('no statement scans a job table behind a pooler, where the session is as the server has it', async () => {
    await clear();
    await seed(20_000);
    const client = await session('');
    try {
      expect(await problemsOfAll(client)).toEqual([]);
      await client.query('analyze');
      expect(await problemsOfAll(client)).toEqual([]);
    } finally {
      await client.end();
    }
  });

  test('a claim reads the index of names for a worker that does not know them all, and the plain one else', async () => {
    const client = await session(ownSettings);
    const used = (node: PlanNode): string[] => [
      ...(node['Index Name'] === undefined ? [] : [`${node['Index Name']} ${node['Index Cond']}`]),
      ...(node.Plans ?? []).flatMap(used),
    ];
    try {
      const indexes = used(await planOf(client, claims.claim, claimValues)).join('\n');
      expect(indexes).toMatch(/^jobs_claim .*queue = .*line = .*rank = .*due <= /m);
      expect(indexes).toMatch(/^jobs_claim_named .*queue = .*line = .*name = .*rank = .*due <= /m);
    } finally {
      await client.end();
    }
  });

  test('a settle finds its rows by id, never by lease, and nothing it sorts grows with the table', async () => {
    const client = await session(ownSettings);
    const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
    try {
      await client.query('vacuum analyze millrace.jobs');
      for (const statement of [claims.settle, settles.putBack]) {
        const values = hot.find(([one]) => one === statement)?.[1] ?? [];
        const plan = nodes(await planOf(client, statement, values));
        const byIndex = plan.filter(
          (node) => node['Relation Name'] === 'jobs' && node['Index Name'] !== undefined,
        );
        expect(byIndex.map((node) => node['Index Name'])).toEqual(['jobs_id']);
        expect(plan.filter((node) => node['Node Type'] === 'Sort')).toEqual([]);
      }
    } finally {
      await client.end();
    }
  });
});
