import { describe, expect, it } from 'vitest';
import { uuidv7 } from '../../internal/uuid.js';
import type { NewJob } from '../new-job.js';
import { noMarks, writeMarks } from './marks.js';
import { claimStatements } from './queries/claim.js';
import { enqueueStatements } from './queries/enqueue.js';
import { keysOf, lockKeys, writeKeys } from './queries/keys.js';
import { insertLines } from './queries/log.js';
import { completeStatements } from './queries/settle.js';
import { insertWorker, takeDutyStatement } from './queries/workers.js';
import { hexBytes, hexDigits, hexId, hexText, identifier, int, isBare, join, list, Sql, sql } from './sql.js';
import { tablesWith } from './tables.js';

const t = tablesWith('millrace_');
const now = sql`0`;

/** Each has ended a literal, a comment or a statement somewhere. */
const hostile = [
  "'; drop table millrace_jobs; --",
  '"; drop table millrace_jobs; #',
  "\\'; drop table millrace_jobs; /*",
  "x'27'; select 1",
  '`; drop table millrace_jobs; --',
  "\u00bf'; drop table millrace_jobs; --",
  "\u0000'\n'\r\u001a",
  '?, ??, :name, %s, $1',
  '\ud800',
];

function hostileJob(text: string): NewJob {
  return {
    id: uuidv7(),
    name: text,
    queue: text,
    payload: text,
    version: 1,
    tags: [],
    priority: -5,
    due: { inMs: 0 },
    maxAttempts: 3,
    retentionMs: null,
    unique: { key: text, scope: 'period', periodMs: 5 },
    idempotency: { key: text, inputHash: 'ab'.repeat(32) },
    after: null,
    limit: null,
    cost: 1,
    requires: [],
  };
}

/** Every statement that carries what users gave. */
function statementsWith(text: string): Sql[] {
  const job = hostileJob(text);
  const token = 'cd'.repeat(16);
  const facts = { token, queueId: 1, nameId: 1, due: 1, claimedAt: 1, workerId: 1, flags: 0, retentionMs: 5 };
  const keys = keysOf(job, 0);
  const marks = { ...noMarks(0, 0), reason: text, errors: text };
  const line = { id: job.id, token, seq: 1, kind: 'log', level: 'info', text } as const;
  return [
    ...enqueueStatements(t, [{ job, queueId: 1, nameId: 2, line: 0 }], now),
    ...enqueueStatements(t, [{ job, queueId: 1, nameId: 2, line: 3 }], now),
    ...completeStatements(t, [{ id: job.id, facts, result: text, isSkipped: false }], now),
    writeMarks(t, [{ id: job.id, marks }]),
    writeKeys(t, keys),
    lockKeys(
      t,
      keys.map(({ key }) => key),
    ),
    insertLines(t, [{ line, claimedAt: 1, at: 1 }]),
    insertWorker(t, { id: text, incarnation: 'ef'.repeat(8), report: text }, { now, hasEpochs: true }),
    takeDutyStatement(t, text, text, 5, now),
  ];
}

describe('the guard of texts for the database', () => {
  it.each(hostile)('turns what users gave into nothing but hex digits: %j', (text) => {
    const bytes = Buffer.from(text, 'utf8').toString('hex');
    const statements = statementsWith(text);
    for (const statement of statements) {
      expect(isBare(statement.text), statement.text).toBe(true);
      expect(statement.text).not.toContain('drop table');
    }
    // payload, unique key twice (body and keys), idempotency key, look-up of both, result, reason, errors, log, worker, duty
    const found =
      statements
        .map((statement) => statement.text)
        .join()
        .split(bytes).length - 1;
    expect(found).toBeGreaterThanOrEqual(12);
  });

  it('lets no text into a template, past the compiler either', () => {
    for (const text of [...hostile, '1', '']) {
      expect(() => sql`select ${text as unknown as number}`).toThrow(/integer or hex literal/);
      expect(() => sql`select ${[text] as unknown as number[]}`).toThrow(/integer or hex literal/);
      expect(() => join([text as unknown as Sql], ', ')).toThrow(/integer or hex literal/);
      expect(() => list([text as unknown as Sql])).toThrow(/integer or hex literal/);
      expect(() => join([{ text } as unknown as Sql], ', ')).toThrow(/integer or hex literal/);
      expect(() => sql([text] as unknown as TemplateStringsArray)).toThrow(/template literal/);
      expect(() => new Sql(text, Symbol('made by the guard'))).toThrow(/the guard made/);
    }
  });

  it('takes no number but whole ones', () => {
    for (const value of [
      0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      '1 or 1=1' as unknown as number,
    ]) {
      expect(() => sql`select ${value}`).toThrow(/whole number|integer/);
    }
    expect(() => int('1; select 2' as unknown as number)).toThrow(/whole number/);
    expect(sql`select ${-5}, ${0}, ${null}, ${[1, 2]}`.text).toBe('select -5, 0, null, 1, 2');
  });

  it('takes ids, tokens and table names in their own form only', () => {
    for (const text of [...hostile, "0199c0de-7a11-7abc-9def-0123456789a'", `${'a'.repeat(31)}'`, '']) {
      expect(() => hexId(text)).toThrow(/full id/);
      expect(() => hexDigits(text, 16)).toThrow(/hex digits/);
      expect(() => identifier(text)).toThrow(/table name/);
    }
    expect(hexId('0199C0DE-7a11-7abc-9def-0123456789ab').text).toBe("x'0199C0DE7a117abc9def0123456789ab'");
    expect(hexBytes(Buffer.from("a'b")).text).toBe("x'612762'");
    expect(hexText(null).text).toBe('null');
    expect(() => hexText(5 as unknown as string)).toThrow(/a text/);
  });

  it('knows a text that it did not make', () => {
    for (const text of [
      "select 'a'",
      'select "a"',
      'select 1 -- 2',
      'select 1 # 2',
      'select 1 /* 2 */',
      "x'zz'",
      '\\',
    ]) {
      expect(isBare(text), text).toBe(false);
    }
    expect(isBare("select x'00ff', -1, `a`")).toBe(true);
  });

  it('keeps the claim to integers and hex digits', () => {
    const lanes = [{ queueId: 1, line: 0, rnk: -5, nameId: 3 }];
    const reads = [[], [-5]].map((ranks) => ({
      queueId: 1,
      lanes,
      isShared: true,
      foreignRanks: new Set(ranks),
    }));
    const plan = {
      workerId: 1,
      leaseMs: 5,
      now,
      takes: [{ limit: 10, start: 2, nameIds: [3], reads }],
      queueIds: [1],
      lanesAreCurrent: sql`1 = 1`,
    };
    for (const statement of claimStatements(t, { ...plan, token: hexDigits('ab'.repeat(16), 16) })) {
      expect(isBare(statement.text), statement.text).toBe(true);
    }
  });
});
