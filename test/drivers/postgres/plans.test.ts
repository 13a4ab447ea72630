import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Statement } from '../../../src/storage/postgres/statement.js';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { claims, claimValues, hot, settles } from './hot-statements.js';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Subplan Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

const jobTables = new Set([
  'jobs',
  'history',
  'dependencies',
  'keys',
  'logs',
  'tags',
  'lines',
  'gates',
  'profiles',
]);
/**
 * These read all running, or all blocked jobs, or all that runs under a limit or is asked to stop, which is what they are for; nothing else may
 * read an index as a whole.
 */
const wholeIndexes = new Set(['jobs_lease', 'jobs_blocked', 'jobs_grouped', 'jobs_stopped']);

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
      const result = await client.query(
        `explain (format json) execute p${list.length > 0 ? `(${list.join(', ')})` : ''}`,
      );
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
    // Every fourth is bounded, in one of 50 lines of 25 keys of 5 groups.
    await client.query(
      `update millrace.jobs set line = 1 + due % 50, gate = 10 + due % 25, group_id = 1 + due % 5, most = 3, cost = 1, terms = 'x' where due % 4 = 0`,
    );
    await client.query(
      `insert into millrace.gates (id, kind, name, key, named_at) overriding system value
         select g, case when g < 10 then 3 else 1 end, 'g', 'k' || g, g from generate_series(1, $1::int / 10) g`,
      [count],
    );
    await client.query(
      `insert into millrace.lines (id, hash, gate, group_id, named_at, terms) overriding system value
         select g, 'h' || g, 10 + g % 25, 1 + g % 5, g, '["g","k",3,1,[]]' from generate_series(1, $1::int / 10) g`,
      [count],
    );
    await client.query(
      `insert into millrace.profiles select 'n' || g % 10, g, 1, 1, null from generate_series(1, $1::int / 10) g`,
      [count],
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
      'truncate millrace.jobs, millrace.history, millrace.dependencies, millrace.keys, millrace.logs, millrace.tags, millrace.gates, millrace.lines, millrace.profiles',
    );
    await client.query('vacuum analyze');
    await client.end();
  };

  test('no statement scans a job table: in our own session, with no, stale and fresh statistics', {
    timeout: 60_000,
  }, async () => {
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
