import { describe, expect, it } from 'vitest';
import { hasErrorCode } from '../internal/errors.js';
import { parseDatabaseUrl } from './database-url.js';

describe('a database address', () => {
  it.each([
    ['memory:', { engine: 'memory' }],
    ['sqlite:millrace.db', { engine: 'sqlite', file: 'millrace.db', synchronous: undefined }],
    [
      '  sqlite:/var/lib/my jobs.db ',
      { engine: 'sqlite', file: '/var/lib/my jobs.db', synchronous: undefined },
    ],
    ['sqlite:a.db?synchronous=normal', { engine: 'sqlite', file: 'a.db', synchronous: 'NORMAL' }],
    [
      'postgres://u:p%40ss@h:5432/db?sslmode=require&schema=jobs',
      {
        engine: 'postgres',
        url: 'postgres://u:p%40ss@h:5432/db?sslmode=require',
        schema: 'jobs',
        prepare: undefined,
      },
    ],
    [
      'postgresql://h/db?prepare=false',
      { engine: 'postgres', url: 'postgresql://h/db', schema: undefined, prepare: false },
    ],
    ['postgres:///db?host=/run/pg', { engine: 'postgres', url: 'postgres:///db?host=/run/pg' }],
    ['mysql://u@h/db', { engine: 'mysql', url: 'mysql://u@h/db', tablePrefix: undefined }],
    ['mariadb://u@h/db?tablePrefix=jobs_', { engine: 'mysql', url: 'mysql://u@h/db', tablePrefix: 'jobs_' }],
  ])('%s is understood', (address, expected) => {
    expect(parseDatabaseUrl(address)).toMatchObject(expected);
  });

  it.each([
    ['sqlite::memory:', 'write memory:'],
    ['sqlite:', 'sqlite:millrace.db'],
    ['sqlite://data/jobs.db', 'Write sqlite:data/jobs.db'],
    ['sqlite:///data/jobs.db', 'Write sqlite:/data/jobs.db'],
    ['sqlite:a.db?mode=ro', 'synchronous=NORMAL'],
    ['memory:x', 'nothing behind it'],
    ['./jobs.sqlite', 'write sqlite:./jobs.sqlite'],
    ['redis://h', 'sqlite:<file>, postgres://…'],
    ['postgres://', 'expected postgres://user:password@host:port/database'],
    ['mysql:///', 'expected mysql://user:password@host:port/database'],
    ['postgres:db', 'postgres://user:password@host:port/database'],
    ['postgres://h/db?schema=a;b', 'schema as 1 to 40 letters'],
    ['postgres://h/db?prepare=maybe', 'prepare=true or prepare=false'],
    ['mysql://h/db?tablePrefix=1', 'tablePrefix as'],
    ['', 'sqlite:<file>'],
    [undefined, 'sqlite:<file>'],
  ])('%s is refused, with what to write instead', (address, hint) => {
    expect(() => parseDatabaseUrl(address)).toThrow(hint);
    try {
      parseDatabaseUrl(address);
    } catch (error) {
      expect(hasErrorCode(error, 'database-url-invalid')).toBe(true);
    }
  });

  it('never shows a password', () => {
    for (const address of [
      'postgres://me:hunter2@h/db?schema=a;b',
      'postgres://me:hun%ter2@h:port/db',
      'redis://me:hunter2@h',
      'mysql://me:hunter2@h/db?tablePrefix=a-b',
      'mysql://h/db?password=hunter2&tablePrefix=a-b',
    ]) {
      let message = '';
      try {
        parseDatabaseUrl(address);
      } catch (error) {
        message = JSON.stringify([String(error), error]);
      }
      expect(message).toContain('***');
      expect(message).not.toMatch(/hunter2|hun%ter2/);
    }
  });
});
