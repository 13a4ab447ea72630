import { describe, expect, it } from 'vitest';
import { isConflict, isCountMismatch, isDuplicateRow, mapDriverError } from './errors.js';

const fromServer = (errno: number): Error & { errno: number } =>
  Object.assign(new Error('as the server says'), { errno });
const fromNode = (code: string): Error & { code: string } =>
  Object.assign(new Error('as Node says'), { code, errno: -111 });

describe('errors of MySQL and MariaDB', () => {
  it.each([
    [1045, 'database-access-denied', false],
    [1049, 'database-not-found', false],
    [1040, 'database-unreachable', true],
    [1927, 'connection-lost', true],
    [4031, 'connection-lost', true],
    [1213, 'transaction-conflict', true],
    [1205, 'database-locked', true],
    [1969, 'deadline-exceeded', true],
    [3024, 'deadline-exceeded', true],
    [1114, 'database-full', true],
    [1290, 'database-read-only', false],
    [1146, 'schema-missing', false],
    [1064, 'query-failed', false],
  ])('%i becomes %s', (errno, code, retryable) => {
    expect(mapDriverError(fromServer(errno), 'claim')).toMatchObject({ code, retryable, details: { errno } });
    expect(mapDriverError(fromServer(errno), 'claim').message).toMatch(
      /^MySQL or MariaDB, claim: as the server says/,
    );
  });

  it.each([
    ['ECONNREFUSED', 'database-unreachable'],
    ['ENOTFOUND', 'database-unreachable'],
    ['ECONNRESET', 'connection-lost'],
    ['PROTOCOL_CONNECTION_LOST', 'connection-lost'],
  ])('%s becomes %s', (code, mapped) => {
    expect(mapDriverError(fromNode(code), 'connecting')).toMatchObject({ code: mapped, retryable: true });
  });

  it.each([
    [1045, /Correct the user and password/],
    [1049, /Create the database/],
    [1040, /Check that the server runs/],
    [1146, /Run: millrace migrate/],
  ])('%i is told with what to do', (errno, advice) => {
    expect(mapDriverError(fromServer(errno), 'claim').message).toMatch(advice);
  });

  it('keeps what is ours, and takes whatever else was thrown', () => {
    const ours = mapDriverError(fromServer(1213), 'claim');
    expect(mapDriverError(ours, 'again')).toBe(ours);
    for (const odd of [
      null,
      undefined,
      'text',
      5,
      { message: '' },
      new AggregateError([new Error('inside')], ''),
    ]) {
      expect(mapDriverError(odd, 'claim').code).toBe('query-failed');
    }
    expect(mapDriverError(new AggregateError([new Error('inside')], ''), 'claim').message).toContain(
      'inside',
    );
  });

  it('tells conflicts, doubled rows and the guard of a settle apart', () => {
    const mapped = (errno: number): unknown => mapDriverError(fromServer(errno), 'settle');
    expect([1213, 1205, 1062, 1690].map((errno) => isConflict(mapped(errno)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([1213, 1062].map((errno) => isDuplicateRow(mapped(errno)))).toEqual([false, true]);
    expect([1690, 1062].map((errno) => isCountMismatch(mapped(errno)))).toEqual([true, false]);
  });
});
