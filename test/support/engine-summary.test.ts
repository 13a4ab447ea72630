import { expect, test } from 'vitest';
import { summarize, type TestOutcome } from './engine-summary.js';

const engines = [
  { tag: 'sqlite', label: 'SQLite 3.50.0' },
  { tag: 'postgres', label: 'PostgreSQL 15.20' },
  { tag: 'mysql', label: 'MariaDB 10.11.19' },
  { tag: 'mysql8', label: 'MySQL 8', absence: 'MILLRACE_TEST_MYSQL8 not set' },
];

test('names each engine with its version and count, and ends with the total', () => {
  const tests: TestOutcome[] = [
    { name: 'src/core/backoff.test.ts > grows', state: 'passed' },
    { name: 'storage [sqlite] > claims', state: 'passed' },
    { name: 'storage [sqlite] > settles', state: 'failed' },
    { name: 'storage [postgres] > claims', state: 'passed' },
    { name: 'storage [postgres] > listens', state: 'skipped' },
  ];
  expect(summarize({ tests, engines, otherFailures: 0 })).toEqual([
    'Engines',
    '  SQLite 3.50.0     1 passed, 1 failed',
    '  PostgreSQL 15.20  1 passed, 0 failed, 1 skipped',
    '  MariaDB 10.11.19: not run (no test tagged [mysql] in this run)',
    '  MySQL 8: not run (MILLRACE_TEST_MYSQL8 not set)',
    '',
    '3 passed, 1 failed, 1 skipped',
  ]);
});

test('counts what failed outside of tests', () => {
  const lines = summarize({ tests: [{ name: 'a', state: 'passed' }], engines: [], otherFailures: 2 });
  expect(lines.at(-1)).toBe('1 passed, 2 failed');
});
