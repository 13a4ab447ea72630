import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { hasErrorCode, MillraceError } from '../../internal/errors.js';
import { checkSchema } from './check-schema.js';
import { loadMigrations } from './load-migrations.js';
import type { Migration, SchemaState } from './migration.js';
import { printMigrations } from './print-migrations.js';
import { readMigrationFiles } from './read-migration-files.js';
import { type MigrationTarget, runMigrations } from './run-migrations.js';

const migration = (number: number, oldestCode = 1): Migration => ({
  number,
  title: `step ${number}`,
  sql: `-- oldest-code: ${oldestCode}\ncreate table t${number} (a int);\n`,
  oldestCode,
});

const codeOf = (call: () => unknown): string | undefined => {
  try {
    call();
    return undefined;
  } catch (error) {
    return error instanceof MillraceError ? error.code : String(error);
  }
};

describe('checkSchema', () => {
  const known = [migration(1), migration(2), migration(3)];
  const check = (found: SchemaState | null) => codeOf(() => checkSchema({ found, migrations: known }));

  test('a database without tables is told how to get them', () => {
    expect(() => checkSchema({ found: null, migrations: known })).toThrow(/millrace migrate/);
    expect(check(null)).toBe('schema-missing');
    expect(check({ version: 0, oldestCode: 0 })).toBe('schema-missing');
  });

  test('code runs on its own schema and on the one before, not on older ones', () => {
    expect(check({ version: 3, oldestCode: 1 })).toBeUndefined();
    expect(check({ version: 2, oldestCode: 1 })).toBeUndefined();
    expect(check({ version: 1, oldestCode: 1 })).toBe('schema-too-old');
  });

  test('code runs on newer schemas for as long as they admit it', () => {
    expect(check({ version: 4, oldestCode: 3 })).toBeUndefined();
    expect(check({ version: 9, oldestCode: 2 })).toBeUndefined();
    expect(check({ version: 4, oldestCode: 4 })).toBe('schema-too-new');
  });

  test('the only migration there is does not make an empty database good enough', () => {
    expect(codeOf(() => checkSchema({ found: null, migrations: [migration(1)] }))).toBe('schema-missing');
  });
});

/** A target in memory whose lock is a queue of promises, as a database's would be. */
function fakeTarget(fail?: (m: Migration) => Error | undefined) {
  const state = { schema: null as SchemaState | null, applied: [] as number[], tail: Promise.resolve() };
  const target: MigrationTarget = {
    async lock() {
      const before = state.tail;
      let release = (): void => {};
      state.tail = new Promise((resolve) => {
        release = resolve;
      });
      await before;
      return { [Symbol.asyncDispose]: async () => release() };
    },
    async read() {
      return state.schema;
    },
    async apply(m) {
      await Promise.resolve();
      const error = fail?.(m);
      if (error) throw error;
      state.applied.push(m.number);
      state.schema = { version: m.number, oldestCode: m.oldestCode };
    },
  };
  return { state, target };
}

describe('runMigrations', () => {
  const three = [migration(1), migration(2), migration(3)];

  test('applies what is missing, in order, and says from where to where', async () => {
    const { state, target } = fakeTarget();
    state.schema = { version: 1, oldestCode: 1 };
    const report = await runMigrations(target, three);
    expect(report).toMatchObject({ from: 1, to: 3 });
    expect(state.applied).toEqual([2, 3]);
  });

  test('of two at once the second finds nothing to do', async () => {
    const { state, target } = fakeTarget();
    const reports = await Promise.all([runMigrations(target, three), runMigrations(target, three)]);
    expect(state.applied).toEqual([1, 2, 3]);
    expect(reports.map((r) => r.applied.length)).toEqual([3, 0]);
    expect(reports[1]).toMatchObject({ from: 3, to: 3 });
  });

  test('a newer schema is left as it is', async () => {
    const { state, target } = fakeTarget();
    state.schema = { version: 7, oldestCode: 2 };
    expect(await runMigrations(target, three)).toEqual({ from: 7, to: 7, applied: [] });
  });

  test('a failure names the migration, keeps what went before, and frees the lock', async () => {
    let isBroken = true;
    const { state, target } = fakeTarget((m) =>
      isBroken && m.number === 2 ? new Error('no such table') : undefined,
    );
    const error = await runMigrations(target, three).catch((e: unknown) => e);
    expect(hasErrorCode(error, 'migration-failed')).toBe(true);
    expect(String(error)).toMatch(/migration 2 \(step 2\).*no such table/);
    isBroken = false;
    expect(await runMigrations(target, three)).toMatchObject({ from: 1, to: 3 });
    expect(state.applied).toEqual([1, 2, 3]);
  });

  test('what waiting can cure passes as it is', async () => {
    const locked = new MillraceError('database-locked', 'held');
    const { target } = fakeTarget(() => locked);
    await expect(runMigrations(target, three)).rejects.toBe(locked);
  });
});

describe('loadMigrations', () => {
  const load = (files: Record<string, string>) => {
    const dir = mkdtempSync(join(tmpdir(), 'millrace-migrations-'));
    try {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
      return loadMigrations(readMigrationFiles(pathToFileURL(`${dir}/`)));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  };
  const head = '-- what it is for\n-- oldest-code: 1\nselect 1;\n';

  test('reads number, title and header in order', () => {
    const found = load({ '0002_more-of-it.sql': head, '0001_first.sql': head, 'README.md': 'x' });
    expect(found.map((m) => [m.number, m.title, m.oldestCode])).toEqual([
      [1, 'first', 1],
      [2, 'more of it', 1],
    ]);
    expect(found[0]?.sql).toBe(head);
  });

  test.each([
    ['a gap', { '0001_a.sql': head, '0003_c.sql': head }],
    ['a double', { '0001_a.sql': head, '0001_b.sql': head }],
    ['a bad name', { '1_a.sql': head }],
    ['no header', { '0001_a.sql': 'select 1;\n-- oldest-code: 1\n' }],
    ['a header above its own number', { '0001_a.sql': '-- oldest-code: 2\n' }],
    ['no file', {}],
  ])('refuses %s', (_, files) => {
    expect(codeOf(() => load(files))).toBe('internal');
  });

  test('a missing folder is named', () => {
    expect(() => readMigrationFiles(new URL('file:///nowhere/at/all/'))).toThrow(/\/nowhere\/at\/all/);
  });
});

test('printMigrations puts the record of each migration after its text', () => {
  const text = printMigrations([migration(1), migration(2)], (m) => `insert into v values (${m.number});`);
  expect(text.indexOf('create table t1')).toBeLessThan(text.indexOf('insert into v values (1);'));
  expect(text.indexOf('insert into v values (1);')).toBeLessThan(text.indexOf('create table t2'));
  expect(printMigrations([migration(1)])).not.toContain('insert');
});
