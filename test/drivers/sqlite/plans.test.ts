/*
 * The plan of every statement, on tables with rows in every status, with statistics that are missing, fresh, and stale
 * (taken while the tables were empty). A statement added to `queries/` is looked at without anybody listing it here.
 */
import { readdirSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { tempDir } from '../../support/temp.js';
import { claimRequest, completed, newJob, newJobs } from './jobs.js';

const folder = new URL('../../../src/storage/sqlite/queries/', import.meta.url);

/** Statements by `file.name`; those made by a function are asked for three rows. */
const statements = new Map<string, string>();
for (const file of readdirSync(folder).filter((name) => name !== 'schema.ts')) {
  const exported = (await import(new URL(file, folder).href)) as Record<string, unknown>;
  for (const [name, value] of Object.entries(exported)) {
    const text: unknown = typeof value === 'function' ? (value as (rows: number) => unknown)(3) : value;
    statements.set(`${file.replace('.ts', '')}.${name}`, String(text));
  }
}

/** May walk through the leases of all running jobs, which are few; the rest through what only people ask for. */
const mayScan: Readonly<Record<string, string>> = {
  'recover.expired': 'jobs_lease',
  'inspect.listProcessing': 'jobs_lease',
  'inspect.countProcessing': 'jobs_lease',
  'inspect.processingEndingIn': 'jobs_lease',
  'metered.running': 'jobs_metered',
  'inspect.countBlocked': 'jobs_blocked',
  'inspect.pendingEndingIn': 'jobs_claim',
};
/** May sort what they have read: running jobs, paused queues, tokens. */
const maySort = new Set([
  'recover.expired',
  'inspect.listProcessing',
  'inspect.countProcessing',
  'kinds.pausedQueueNames',
  'tokens.list',
]);
/** They show a table that has a row for each queue, worker, hub or token. */
const smallTables =
  /^SCAN (q|queues|kinds|workers|hubs|tokens|ended_counts|CONSTANT ROW|3-ROW VALUES CLAUSE|\(subquery|.* VIRTUAL TABLE)/;

async function seed(file: string): Promise<void> {
  await using storage = await opened(file);
  const parents = newJobs(200, { name: 'parent', tags: ['parent'] });
  await storage.enqueue(parents);
  for (let round = 0; round < 5; round += 1) {
    await storage.enqueue(newJobs(1_000, { name: `name-${round}`, priority: round }));
    await storage.enqueue(newJobs(500, { due: { inMs: 3_600_000 } }));
  }
  for (const { id } of parents) {
    await storage.enqueue([newJob({ name: 'child', after: { ids: [id], onFailure: 'run' } })]);
  }
  for (let round = 0; round < 5; round += 1) {
    const claimed = await storage.claim(claimRequest({ limit: 400, names: ['name-0', 'name-1', 'name-2'] }));
    await storage.settle(completed(claimed.slice(0, 300)));
    const [first] = claimed.slice(300);
    if (first === undefined) continue;
    await storage.settle([{ ...first, kind: 'buried', reason: 'non-retriable', errors: '[]' }]);
  }
}

async function opened(file: string): Promise<SqliteStorage & AsyncDisposable> {
  const storage = new SqliteStorage({ file, synchronous: 'NORMAL' });
  await storage.open();
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

/** Statistics are read when a connection opens the file, so each kind gets a connection of its own. */
const preparations: Record<string, (file: string) => Promise<void>> = {
  missing: seed,
  fresh: async (file) => {
    await seed(file);
    analyze(file);
  },
  stale: async (file) => {
    await (await opened(file)).close();
    analyze(file);
    await seed(file);
  },
};

function analyze(file: string): void {
  const db = new Database(file);
  db.exec('analyze');
  db.close();
}

function planOf(db: Database.Database, text: string): string[] {
  const values = Array.from({ length: (text.match(/\?/g) ?? []).length }, () => null);
  const rows = db.prepare<unknown[], { detail: string }>(`explain query plan ${text}`).all(...values);
  return rows.map(({ detail }) => detail);
}

describe.each(Object.entries(preparations))('[sqlite] plans with %s statistics', (_, prepare) => {
  test('no statement walks through a job table or sorts what grows', { timeout: 30_000 }, async () => {
    await using folder = tempDir('plans');
    const file = folder.file('queue.db');
    await prepare(file);
    const db = new Database(file);
    const faults = [...statements].flatMap(([name, text]) => {
      const plan = planOf(db, text);
      const scans = plan.filter((line) => line.startsWith('SCAN') && !smallTables.test(line));
      const allowed = mayScan[name];
      const bad = [
        ...scans.filter((line) => allowed === undefined || !line.includes(allowed)),
        ...plan.filter((line) => line.includes('TEMP B-TREE') && !maySort.has(name)),
      ];
      return bad.map((line) => `${name}: ${line}`);
    });
    db.close();
    expect(faults).toEqual([]);
  });
});

test('[sqlite] the claim and the settle use the index made for them', async () => {
  await using folder = tempDir('plans');
  const file = folder.file('queue.db');
  await seed(file);
  const db = new Database(file);
  const plan = (name: string): string => planOf(db, statements.get(name) ?? '').join('\n');
  expect(plan('claim.dueRange')).toContain(
    'USING INDEX jobs_claim (queue=? AND kind=? AND line=? AND rank=? AND due_at<?)',
  );
  expect(plan('claim.lendRange')).toContain(
    'USING COVERING INDEX jobs_claim (queue=? AND kind=? AND line=? AND rank=? AND due_at<?)',
  );
  expect(plan('claim.candidates')).toContain(
    'jobs_claim (queue=? AND kind=? AND line=? AND rank=? AND (due_at,id)>(?,?) AND due_at<?)',
  );
  expect(plan('settle.complete')).toContain('USING INDEX jobs_id (id=?)');
  expect(plan('claim.renew')).toContain('jobs_lease (token>? AND token<?)');
  expect(plan('inspect.listTagged')).toContain('SEARCH t USING PRIMARY KEY (tag=? AND id<?)');
  expect(plan('inspect.tagsOf')).toContain('COVERING INDEX tags_row (row=?)');
  expect(plan('inspect.countBefore')).toContain(
    'jobs_claim (queue=? AND kind=? AND line=? AND rank=? AND due_at<?)',
  );
  expect(plan('inspect.listPending')).toContain('(line,rank,due_at,id)>(?,?,?,?)');
  db.close();
});

test('[sqlite] every statement of the engine is looked at', () => {
  expect(statements.size).toBeGreaterThan(50);
});
