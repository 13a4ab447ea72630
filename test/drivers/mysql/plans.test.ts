import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { foreignStatement } from '../../../src/storage/mysql/lanes.js';
import { noMarks, writeMarks } from '../../../src/storage/mysql/marks.js';
import { type ClaimPlan, claimStatements } from '../../../src/storage/mysql/queries/claim.js';
import {
  buriedAfter,
  editBodies,
  moveWaiting,
  requestStop,
  requestStops,
} from '../../../src/storage/mysql/queries/control.js';
import * as dependents from '../../../src/storage/mysql/queries/dependents.js';
import * as inspect from '../../../src/storage/mysql/queries/inspect.js';
import * as keys from '../../../src/storage/mysql/queries/keys.js';
import * as leases from '../../../src/storage/mysql/queries/leases.js';
import * as limits from '../../../src/storage/mysql/queries/limits.js';
import * as lined from '../../../src/storage/mysql/queries/lined-claim.js';
import * as lines from '../../../src/storage/mysql/queries/lines.js';
import * as logs from '../../../src/storage/mysql/queries/log.js';
import * as places from '../../../src/storage/mysql/queries/places.js';
import {
  lockPurgeable,
  neededParents,
  purgeableStatement,
  removeFinals,
  traceStatements,
} from '../../../src/storage/mysql/queries/purge.js';
import { completeStatements, readFacts } from '../../../src/storage/mysql/queries/settle.js';
import { deleteSlots } from '../../../src/storage/mysql/queries/slots.js';
import * as survey from '../../../src/storage/mysql/queries/survey.js';
import { hexDigits, hexId, type Sql, sql } from '../../../src/storage/mysql/sql.js';
import { MysqlStorage } from '../../../src/storage/mysql/storage.js';
import { tablesWith } from '../../../src/storage/mysql/tables.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';

const t = tablesWith('millrace_');
const now = sql`(cast(unix_timestamp(now(3)) * 1000 as signed) + 0)`;
const token = 'ab'.repeat(16);
const ids = Array.from({ length: 300 }, () => uuidv7());
const hex = ids.map(hexId);
const held = ids.map((id) => ({ id, token }));
const manyTokens = ids.map((id, index) => ({ id, token: index.toString(16).padStart(32, '0') }));
const oldCompleted = { status: 3, isRetained: false, olderThanMs: 0, count: 100 };
const oneQueue = {
  queueIds: [1],
  oneQueue: true,
  after: { by: 'id', id: ids[0] ?? '' },
  count: 100,
} as const;
const twoQueues = { ...oneQueue, queueIds: [1, 2], oneQueue: false } as const;
const afterClaim = { by: 'claim', numbers: [1, 0, 0, 5], id: ids[0] ?? '' } as const;

const completions = (of: readonly { id: string; token: string }[]) =>
  of.map(({ id, token }) => ({
    id,
    result: null,
    isSkipped: false,
    facts: { token, queueId: 1, nameId: 1, due: 1, claimedAt: 1, workerId: 1, flags: 0, retentionMs: null },
  }));

function claim(queueIds: readonly number[], isShared = false, foreignRanks: readonly number[] = []): Sql[] {
  const reads = queueIds.map((queueId) => ({
    queueId,
    isShared,
    foreignRanks: new Set(foreignRanks),
    lanes: [-10, 0].map((rnk) => ({ queueId, line: 0, rnk, nameId: 1 })),
  }));
  const plan: ClaimPlan = {
    token: hexDigits('cd'.repeat(16), 16),
    workerId: 1,
    leaseMs: 45_000,
    now,
    takes: [{ limit: 200, start: 10, nameIds: [1], reads }],
    queueIds,
    lanesAreCurrent: sql`1 = 1`,
  };
  return claimStatements(t, plan);
}

const claimer = {
  token: hexDigits('cd'.repeat(16), 16),
  workerId: 1,
  leaseMs: 45_000,
  now,
  lanesAreCurrent: sql`1 = 1`,
};
const lineRead = {
  queueId: 1,
  isShared: false,
  foreignRanks: new Set<number>(),
  lanes: [-10, 0].map((rnk) => ({ queueId: 1, line: 0, rnk, nameId: 1 })),
};
const lanesOfLines = Array.from({ length: 100 }, (_, n) => ({ queueId: 1, line: n + 1, rnk: 0, nameId: 1 }));
const readyKeys = hex.slice(0, 200).map((id, n) => ({ queueId: 1, line: 1 + (n % 100), rnk: 0, due: 5, id }));

/** Every statement that runs per job, per batch, per poll, per heartbeat or per page. */
const hot: Readonly<Record<string, readonly Sql[]>> = {
  claim: claim([1]),
  'claim beside names that are gone': claim([1], true),
  'claim beside other names': claim([1], true, [0]),
  'claim from two queues': claim([1, 2]),
  'claim of lines': [
    ...lined.beginStatements(t, claimer, { plain: [1], sums: [[2, 5]] }),
    lined.pausedAmong(t, [1, 2]),
    lined.peekOrdinary(t, lineRead, 100),
    ...lined.peekLanes(t, [
      ...lanesOfLines.map((lane) => ({ lane, limit: 1 })),
      ...lanesOfLines.map((lane) => ({ lane, limit: 5 })),
    ]),
    ...lined.takeOrdinary(t, claimer, { read: lineRead, count: 10, started: 5, isMetered: true }),
    lined.takeLanes(
      t,
      claimer,
      lanesOfLines.map((lane) => ({ lane, limit: 5, isMetered: false })),
    ),
    ...lined.takeKeys(t, claimer, { keys: readyKeys, isMetered: true, isStarted: true }),
    lined.insertSlots(t, claimer.token, { queueGates: new Map([[1, 3]]), runsAlone: false }),
    lined.insertSlots(t, claimer.token, { queueGates: new Map(), runsAlone: true }),
    lined.serveGates(t, new Map([[1, 5]])),
    lined.peekAlone(t, { ...lineRead, lanes: lineRead.lanes.map((lane) => ({ ...lane, line: -1 })) }, 100),
  ],
  survey: [
    survey.surveyStatement(t, { queueId: 1, after: null, limit: 1_000 }, now),
    survey.surveyStatement(t, { queueId: 1, after: [5, 0, 1], limit: 1_000 }, now),
    survey.lockGates(t, [1, 2, 3]),
    survey.lockFreeGates(t, [1, 2, 3]),
    survey.countByKey(t, [1, 2, 3]),
    survey.costByGroup(t, [1, 2, 3]),
    survey.costByQueue(t, [1, 2, 3]),
  ],
  lines: [
    lines.requireLines(t, [1, 2, 3]),
    lines.pinLines(t, [1, 2, 3]),
    lines.deleteMembers(t, hex),
    lines.idleLanes(t, null, 1_000, now),
    lines.lockLanes(t, lanesOfLines),
    lines.readyIn(t, lanesOfLines),
    lines.deleteLanes(t, lanesOfLines),
    lines.unusedLines(t, 100, now),
    lines.usedLines(t, [1, 2, 3]),
    deleteSlots(t, hex),
    limits.linesWithWork(t, 1_000),
    limits.homesOfAlone(t, 1_000),
    limits.countInLines(t, lanesOfLines, 1_000),
  ],
  settle: completeStatements(t, completions(held), now),
  'settle of many tokens': completeStatements(t, completions(manyTokens), now),
  'facts of leases': [readFacts(t, ids)],
  'lock places': places.lockPlaces(t, hex),
  'read bodies': [places.readBodies(t, hex)],
  'forget jobs': places.forgetJobs(t, ids, true),
  'write marks': [writeMarks(t, [{ id: ids[0] ?? '', marks: noMarks(0, 0) }])],
  dependents: [
    dependents.edgesOf(t, hex),
    dependents.meetEdges(t, hex, hex),
    dependents.openEdgesOf(t, hex),
    dependents.openParentsOf(t, hex[0] ?? sql`null`),
  ],
  keys: [keys.lockKeys(t, ['a', 'b']), keys.readHolders(t, ids), keys.deleteKeys(t, ['a', 'b'], ids)],
  leases: [
    leases.lockHeld(t, 'ab'.repeat(8)),
    leases.renewStatement(t, hex, now),
    leases.heldStatement(t, 'ab'.repeat(8)),
    leases.stopRequestsStatement(t, ['ab'.repeat(8), 'cd'.repeat(8)], 1_000),
    leases.markStartedStatement(t, held),
    leases.markStartedStatement(t, manyTokens),
    leases.tokensOf(t, held),
    leases.peekLinesStatement(t, [{ queueIds: [1, 2], nameIds: [1, 2] }], { now, limit: 1_000 }),
    leases.peekAloneStatement(t, [{ queueIds: [1, 2], nameIds: [1, 2] }], { now, limit: 1_000 }),
    leases.peekStatement(t, [{ queueIds: [1], nameIds: [1] }], { now, kept: [1] }),
    leases.peekStatement(t, [{ queueIds: [1, 2], nameIds: [1, 2] }], { now, kept: [] }),
    leases.lanesOfJobs(t, ids),
    leases.openEdgesWithEnds(t, ids),
    leases.sweepBound(t, ids[0] ?? null, 5_000),
    leases.strandedStatement(t, ids[0] ?? null, ids[299] ?? null, 100),
    foreignStatement(t, 1, 0, [1]),
  ],
  control: [
    buriedAfter(t, [1, 2], ids[0] ?? null, 100),
    requestStop(t, ids[0] ?? '', 1),
    requestStops(t, hex, 1),
    editBodies(t, hex, { payload: '1', queueId: 2, rnk: 5 }),
    moveWaiting(t, hex, { queueId: 2, rnk: 5 }),
  ],
  purge: [
    purgeableStatement(t, oldCompleted, now),
    lockPurgeable(t, hex, oldCompleted, now),
    neededParents(t, hex),
    removeFinals(t, hex),
    ...traceStatements(t, { olderThanMs: 0, limit: 100 }, now),
  ],
  looking: [
    inspect.recordStatement(t, hex[0] ?? sql`null`),
    inspect.summariesStatement(t, hex),
    inspect.endingsStatement(t, hex),
    inspect.errorsStatement(t, hex),
    inspect.listTagged(t, 'tag', oneQueue),
    inspect.pendingPlace(t, hex[0] ?? sql`null`),
    inspect.aheadStatement(t, hex[0] ?? sql`null`, { queueId: 1, line: 0, rnk: 0, due: 5 }, now),
    inspect.listLeases(t, oneQueue),
    inspect.listWaiting(t, oneQueue),
    inspect.listWaiting(t, twoQueues),
    inspect.listFinals(t, twoQueues, 3),
    inspect.listReady(t, { ...oneQueue, after: afterClaim }),
    inspect.listReady(t, { ...twoQueues, after: afterClaim }),
  ],
  log: [
    logs.presentLeases(t, hex, now),
    logs.logSizes(t, hex),
    logs.keptLines(t, hex),
    logs.linesAfter(t, hex[0] ?? sql`null`, { claimedAt: 1, token, seq: 1 }, 100),
  ],
};

/** How many rows stand in each table: enough that a scan would be the wrong plan. */
const rows = sql`(select a.n + b.n * 10 + c.n * 100 + d.n * 1000 as n from ${digits()} a, ${digits()} b, ${digits()} c, ${digits()} d)`;
const rowId = (first: number): Sql => sql`unhex(lpad(hex(${first} * 1000000 + n), 32, 0))`;
const marginMs = 3_600_000;

function digits(): Sql {
  return sql`(select 0 as n union all select 1 union all select 2 union all select 3 union all select 4
    union all select 5 union all select 6 union all select 7 union all select 8 union all select 9)`;
}

/** Ready and due, ready and not due, ended, running, blocked, and what belongs to them. */
const seeds: readonly Sql[] = [
  sql`insert into ${t.queues} (id, name, lanes) values (1, x'61', 4), (2, x'62', 4)`,
  sql`insert into ${t.names} (id, name) values (1, x'61'), (2, x'62')`,
  sql`insert into ${t.lanes} (queue_id, line, rnk, name_id) values (1, 0, -10, 1), (1, 0, 0, 1), (1, 0, 0, 2), (2, 0, 0, 1)`,
  sql`insert into ${t.ready} select 1, 0, 0, 5, ${rowId(1)}, 1 + n % 2, 0 from ${rows} r`,
  sql`insert into ${t.ready} select 2, 0, 0, 5, ${rowId(2)}, 1 + n % 2, 0 from ${rows} r`,
  sql`insert into ${t.ready} select 1, 0, -10, ${now} + ${marginMs}, ${rowId(3)}, 1, 0 from ${rows} r`,
  sql`insert into ${t.ready} select 1, 1 + n % 100, 0, 5, ${rowId(7)}, 1, 0 from ${rows} r`,
  sql`insert into ${t.lanes} (queue_id, line, rnk, name_id) select 1, n + 1, 0, 1 from ${rows} r`,
  sql`insert into ${t.gates} (id, k, kind, group_name) select n + 1, lpad(n, 32, x'30'), 0, x'67' from ${rows} r`,
  sql`insert into ${t.lines} select n + 1, lpad(n, 32, x'30'), n + 1, 1, 5, 1, null, n from ${rows} r`,
  sql`insert into ${t.members} select 1 + n % 100, ${rowId(7)} from ${rows} r`,
  sql`insert into ${t.slots} select ${rowId(5)}, if(n % 10 = 0, 1, null), 1 + n % 1000, 1, 1, 5 from ${rows} r`,
  sql`insert into ${t.finals} select ${rowId(4)}, 1 + n % 2, 1, 3 + n % 3, 0, 0, n, 5, 5, n, 1, null, 0, null, null from ${rows} r`,
  sql`insert into ${t.leases} select unhex(lpad(hex(n % 50), 32, 0)), ${rowId(5)}, 1, 0, 0, 5, 1, 0, 0, 0, 1, 5, 5 from ${rows} r`,
  sql`insert into ${t.waiting} select ${rowId(6)}, 1 + n % 2, 1, 0, 5, 0 from ${rows} r`,
  sql`insert into ${t.edges} select ${rowId(4)}, ${rowId(6)}, 1, 0 from ${rows} r`,
  sql`insert into ${t.marks} (id, due) select ${rowId(5)}, 5 from ${rows} r`,
  sql`insert into ${t.keys} select ${rowId(1)}, ${rowId(1)}, 2, if(n % 10 = 0, ${now} + ${marginMs}, null), null from ${rows} r`,
  sql`insert into ${t.tags} select x'746167', ${rowId(1)} from ${rows} r`,
  sql`insert into ${t.log} select ${rowId(5)}, 5, ${rowId(5)}, 1, n, 0, 0, x'61' from ${rows} r`,
  ...[1, 2, 3, 4, 5, 6, 7].map(
    (first) =>
      sql`insert into ${t.jobs} select ${rowId(first)}, 1, 1, 0, 5, 5, 3, null, null, null, 1, x'61', null from ${rows} r`,
  ),
];

const jobTables = [
  'jobs',
  'ready',
  'leases',
  'waiting',
  'finals',
  'marks',
  'edges',
  'keys',
  'log',
  'tags',
  'members',
  'slots',
  'lines',
  'gates',
] as const;

type Statistics = 'fresh' | 'stale' | 'missing';

async function seed(connection: Connection, statistics: Statistics): Promise<void> {
  for (const name of jobTables) {
    const persistent = statistics === 'missing' ? sql`0` : sql`1`;
    await connection.query(
      sql`alter table ${t[name]} stats_persistent = ${persistent}, stats_auto_recalc = 0`.text,
    );
    // Stale: what is known is from the time when nothing stood there.
    if (statistics === 'stale') await connection.query(sql`analyze table ${t[name]}`.text);
  }
  for (const statement of seeds) await connection.query(statement.text);
  for (const name of jobTables) {
    if (statistics === 'fresh') await connection.query(sql`analyze table ${t[name]}`.text);
  }
  await connection.query('set @now = 1e12, @until = 1000000000000, @rest = 1, @state = 1, @settled = 0');
}

/** Rows that are written as they stand need no plan, and variables have none. */
function isPlanned(text: string): boolean {
  return !/^set |^select @|\binto @|^insert[^(]*\([^)]*\)\s+values/i.test(text);
}

interface PlanRow extends RowDataPacket {
  readonly table: string | null;
  readonly type: string | null;
  readonly key: string | null;
  readonly Extra: string | null;
}

/** What a plan may not do with a table of jobs: walk over it, or sort what grows with it. */
function faults(plan: readonly PlanRow[]): string[] {
  const walks = plan.filter(({ type, key }) => type === 'ALL' || (type === 'index' && key !== null));
  const sorts = plan.filter(({ Extra }) => /filesort|temporary/i.test(Extra ?? ''));
  return [...walks.filter(isJobTable), ...sorts.filter(isJobTable)].map(
    ({ table, type, key, Extra }) => `${table}: ${type} by ${key} (${Extra})`,
  );
}

/** Rows are shown under the alias, so by what is not a table of jobs: derived tables and the small ones. */
function isJobTable({ table }: PlanRow): boolean {
  return (
    table !== null &&
    !/^(<|numbered|beyond|u$|newest|each_queue|buried|q$|millrace_(queues|lanes|workers))/.test(table)
  );
}

/**
 * Walks in index order that a limit ends: EXPLAIN shows them as a scan of the index. And sorts of as many rows as were
 * asked for by id.
 */
const bounded: readonly RegExp[] = [
  /^select id, queue_id, name_id from `millrace_(leases|waiting)` force index/,
  /for update$/,
  /^update `millrace_leases` set started = 1 where token = /,
  /^select job_id, count/,
  /^select distinct (child|e\.parent)/,
  // Lanes, which are no jobs.
  /^select distinct l\.queue_id, l\.line from `millrace_lanes`/,
  /^select j\.line from `millrace_lanes` l straight_join/,
];

describe.skipIf(!serverAvailable('mysql'))('[mysql] plans', () => {
  describe.each<Statistics>(['fresh', 'stale', 'missing'])('with %s statistics', (statistics) => {
    let database: TestDatabase;
    let connection: Connection;
    beforeAll(async () => {
      database = await testDatabase('mysql');
      const storage = new MysqlStorage({ url: database.url, migrate: 'auto' });
      await storage.open();
      await storage.close();
      connection = await createConnection({ uri: database.url });
      await connection.query('set session transaction isolation level read committed');
      await seed(connection, statistics);
    });
    afterAll(async () => {
      connection.destroy();
      await database[Symbol.asyncDispose]();
    });

    test('a plan that walks over jobs, or sorts them, is seen as one', async () => {
      const bad = [
        sql`select id from ${t.ready} where id = ${hex[0] ?? sql`null`}`,
        sql`select id from ${t.finals} ignore index (by_queue) where queue_id = 1 and status = 3 order by purge_at limit 5`,
      ];
      for (const { text } of bad) {
        const [plan] = await connection.query<PlanRow[]>(`explain ${text}`);
        expect(faults(plan), text).not.toEqual([]);
      }
    });

    test.each(Object.keys(hot))('%s reads by an index, and sorts nothing that grows', async (name) => {
      for (const statement of hot[name] ?? []) {
        const text = statement.text.trim();
        if (!isPlanned(text)) continue;
        const [plan] = await connection.query<PlanRow[]>(`explain ${text}`);
        const found = faults(plan).filter((fault) => {
          const flat = text.replace(/\s+/g, ' ');
          return !(bounded.some((pattern) => pattern.test(flat)) && !/: ALL/.test(fault));
        });
        expect(found, text.slice(0, 400)).toEqual([]);
      }
    });
  });
});
