import { describe, expect, it } from 'vitest';
import { createLineLogger, type LineLoggerOptions, maskUrl, withLogFields } from './logger.js';

function capture(options: Partial<LineLoggerOptions> = {}) {
  const lines: string[] = [];
  const now = () => new Date('2026-01-02T03:04:05.678Z');
  const logger = createLineLogger({ write: (line) => lines.push(line), now, ...options });
  return { lines, logger };
}

describe('createLineLogger', () => {
  it('writes time, level, message and fields on one line', () => {
    const { lines, logger } = capture();
    logger.info('worker: started', { id: 'w-1', lanes: 2, label: 'a b', none: undefined, list: [1] });
    expect(lines).toEqual([
      '2026-01-02T03:04:05.678Z info  worker: started id=w-1 lanes=2 label="a b" list=[1]',
    ]);
  });

  it('writes JSON when asked to, with errors in full', () => {
    const { lines, logger } = capture({ json: true });
    logger.error('failed', { error: new TypeError('bad'), big: 1n, level: 'fields can not replace it' });
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 'error',
      message: 'failed',
      big: '1',
      error: { name: 'TypeError', message: 'bad' },
    });
  });

  it('leaves out what is below its level', () => {
    const { lines, logger } = capture({ level: 'warn' });
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.error('d');
    expect(lines).toHaveLength(2);
    const silent = capture({ level: 'silent' });
    silent.logger.error('e');
    expect(silent.lines).toEqual([]);
  });

  it('keeps a line one line and free of terminal controls', () => {
    const { lines, logger } = capture();
    logger.warn('two\nlines \u001b[31mred', { key: 'a\nb' });
    expect(lines[0]).not.toMatch(/\p{Cc}/u);
    logger.warn('back \u202ewards \u009b2J', { key: 'x\u202ey', quoted: 'a "b" \\ c' });
    expect(lines[1]).toContain(
      String.raw`back \u{202e}wards \u{9b}2J key="x\u{202e}y" quoted="a \"b\" \\ c"`,
    );
    const asJson = capture({ json: true });
    asJson.logger.warn('back \u202ewards', { key: '\u009b' });
    expect(asJson.lines[0]).not.toMatch(/[\u202e\u009b]/);
    expect(JSON.parse(asJson.lines[0] ?? '')).toMatchObject({ message: 'back \u202ewards', key: '\u009b' });
  });

  it('never throws: cyclic fields, getters that throw, a writer that fails', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const hostile = {
      get value(): unknown {
        throw new Error('no');
      },
    };
    for (const json of [false, true]) {
      const { lines, logger } = capture({ json });
      logger.info('cyclic', { cyclic, hostile });
      expect(lines).toHaveLength(1);
      const failing = capture({
        json,
        write: () => {
          throw new Error('EPIPE');
        },
      });
      expect(() => failing.logger.info('x', hostile)).not.toThrow();
    }
  });

  it('masks passwords in messages, fields and errors', () => {
    for (const json of [false, true]) {
      const { lines, logger } = capture({ json });
      const url = 'postgres://app:hunter2@db/jobs';
      logger.error(`cannot reach ${url}`, { url, error: new Error(`no ${url}`), nested: { url } });
      expect(lines.join('\n')).not.toContain('hunter2');
      expect(lines.join('\n')).toContain('app:***@db');
    }
  });

  it('adds fields to every line', () => {
    const { lines, logger } = capture();
    withLogFields(logger, { worker: 'w-1' }).info('x', { job: 'j' });
    expect(lines[0]).toMatch(/x worker=w-1 job=j$/);
  });
});

describe('maskUrl', () => {
  it.each([
    ['postgres://app:pw@db:5432/jobs', 'postgres://app:***@db:5432/jobs'],
    ['mysql://root:p@ss:w@db/x', 'mysql://root:***@db/x'],
    ['mysql://root:p/s"w@db/x', 'mysql://root:***@db/x'],
    ['http://127.0.0.1:8000/jobs/a@b', 'http://127.0.0.1:8000/jobs/a@b'],
    ['postgres://:pw@db/x', 'postgres://:***@db/x'],
    ['postgres://db/x?user=a&password=pw&ssl=1', 'postgres://db/x?user=a&password=***&ssl=1'],
    ['a postgres://a:b@c/d and mysql://e:f@g/h', 'a postgres://a:***@c/d and mysql://e:***@g/h'],
    ['postgres://app@db/jobs', 'postgres://app@db/jobs'],
    ['sqlite:millrace.db', 'sqlite:millrace.db'],
    ['no address: a@b', 'no address: a@b'],
  ])('%s → %s', (text, masked) => {
    expect(maskUrl(text)).toBe(masked);
  });
});
