import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import { isMillraceError } from '../../../src/internal/errors.js';
import type { Storage } from '../../../src/storage/storage.js';
import { Stage } from '../../conformance/stage.js';
import { peekAt } from '../../support/claim-request.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';

/** What breaks out of a text where a text is put into a statement, a pattern, a list, a header or a path. */
const attacks = [
  "' or '1'='1",
  "'); drop table millrace_jobs; --",
  "'; delete from millrace.jobs; --",
  "\\'; drop table millrace_queues; -- ",
  '" or ""="',
  '`; drop table jobs; --',
  '$1 $2 ? :name @name {{schema}}',
  '$$; drop schema millrace cascade; $$',
  '%',
  '______',
  "_%_%'\\",
  '{a,b}',
  '{"__proto__":{"polluted":true}}',
  '[NaN,1]',
  '(1,2)',
  '\\x00',
  'NULL',
  '0x41 /* */ -- #',
  '../../../etc/passwd',
  'a\nb\r\nSet-Cookie: x',
  '\u202etxt.exe',
  '😀👩‍👩‍👧‍👦 𝒳 e\u0301',
  "한글 日本語 עברית '؛--",
  'a\0b',
  '\ud800',
  'x'.repeat(500),
];

const polluted = (): unknown => ({})['polluted' as keyof object];

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] hostile texts`, () => {
    let database: TestEngine;
    let stage: Stage;
    let canary = '';
    const canaries = 'canaries';

    beforeAll(async () => {
      database = await openEngine(engine);
      stage = new Stage(engine, () => database);
      [canary = ''] = await stage.addMany(canaries, 20);
    });
    afterAll(async () => {
      await database[Symbol.asyncDispose]();
    });

    const expectUnharmed = async (): Promise<void> => {
      expect(await stage.stats(canaries)).toMatchObject({
        pending: 20,
        completed: 0,
        cancelled: 0,
        paused: false,
      });
      expect(polluted()).toBeUndefined();
    };
    /** Refused, or taken as nothing but a text. */
    const tried = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await call();
      } catch (error) {
        expect(isMillraceError(error), String(error)).toBe(true);
        return undefined;
      }
    };

    test.each(attacks)('%j in every text of every call is a text', async (text) => {
      const { storage } = database;
      const calls: ((storage: Storage) => Promise<unknown>)[] = [
        (on) => on.claim(stage.request([text], { names: [text], workerId: text, limit: 5, start: 5 })),
        (on) => on.peek(peekAt([text], [text], { labels: [text] })),
        (on) => on.stats(text),
        (on) => on.setPaused(text, true),
        (on) => on.setPaused(text, false),
        (on) => on.jobs({ queue: text, name: text }, { limit: 5 }),
        (on) => on.jobs({ name: text }, { limit: 5 }),
        (on) => on.jobs({}, { limit: 5, cursor: text }),
        (on) => on.log(canary, { limit: 5, after: text }),
        (on) => on.log(text, { limit: 5 }),
        (on) => on.idsEndingIn(text),
        (on) => on.job(text),
        (on) => on.endings([text]),
        (on) => on.retry(text),
        (on) => on.cancel(text),
        (on) => on.bury(text),
        (on) => on.delete(text),
        (on) => on.retryBuried({ queue: text, limit: 5 }),
        (on) => on.held(text),
        (on) => on.renew(text, 1_000),
        (on) => on.markStarted([{ id: text, token: text }]),
        (on) => on.settle([{ id: text, token: text, kind: 'completed', result: null }]),
        (on) => on.settle([{ id: canary, token: text, kind: 'completed', result: text }]),
        (on) => on.ahead(text),
        (on) => on.edit(text, { payload: text, queue: text }),
        (on) => on.changeMany({ change: { kind: 'delete' }, ids: [text, text] }),
        (on) => on.jobs({ tag: text, errorText: text, worker: text, name: text }, { limit: 5 }),
        (on) => on.jobs({ tag: 'any' }, { limit: 5, cursor: text }),
        (on) => on.enqueue([stage.newJob('odd', { tags: [text] })]),
        (on) => on.appendLog([{ id: canary, token: text, seq: 1, kind: 'log', level: 'info', text }]),
        (on) => on.takeDuty(text, text, 1_000),
        (on) => on.releaseDuty(text, text),
        (on) => on.unregister(text, text),
        (on) => on.expired({ expiredForMs: 0, limit: 5, after: { leaseUntilMs: 0, id: text } }),
        (on) => on.enqueue([stage.newJob('odd', { id: text })]),
        (on) => on.enqueue([stage.newJob(text, { name: text })]),
        (on) => on.enqueue([stage.newJob('odd', { after: { ids: [text], onFailure: 'run' } })]),
      ];
      expect((await tried(() => storage.idsEndingIn(text))) ?? []).toEqual([]);
      for (const call of calls) await tried(() => call(storage));
      await expectUnharmed();
    });

    test('keys, reasons, log lines, progress, results and errors of any text go in and out as they are', async () => {
      const speak = defineJob('speak', {
        attempts: 1,
        run: ({
          input,
          log,
          progress,
          cancel,
        }: JobContext<{ readonly text: string; readonly how: string }>) => {
          log.info(input.text, { [input.text]: input.text });
          progress(1, 2, input.text);
          if (input.how === 'throws')
            throw Object.assign(new Error(input.text), { name: input.text, code: input.text });
          return input.how === 'cancels' ? cancel(input.text) : { [input.text]: input.text };
        },
      }) as unknown as JobDefinition;
      await using millrace = new Millrace({ database: database.storage, jobs: [speak], killGrace: '100ms' });
      const sent: { text: string; how: string; handle: Awaited<ReturnType<typeof millrace.dispatch>> }[] = [];
      for (const text of attacks) {
        for (const how of ['returns', 'throws', 'cancels']) {
          const options = { unique: { key: `${how}${text}` }, idempotencyKey: `${how}${text}` };
          const handle = await millrace.dispatch('speak', { text, how }, options);
          expect(handle.deduplicated).toBe(false);
          const again = await millrace.dispatch('speak', { text, how }, options);
          expect([again.id, again.deduplicated]).toEqual([handle.id, true]);
          sent.push({ text, how, handle });
        }
      }
      await using worker = millrace.worker({ concurrency: 10 });
      await worker.start();
      for (const { text, how, handle } of sent) {
        const ending: unknown = await handle.result({ timeout: '20s' }).catch((error: unknown) => error);
        const job = await handle.job();
        if (how === 'returns') expect(ending).toEqual({ [text]: text });
        if (how === 'throws') expect(job?.failures[0]?.error.message).toBe(printable(text));
        if (how === 'cancels') expect(job?.reason).toBe(printable(text));
        const lines = await millrace.log(handle.id);
        expect(lines.map(({ kind }) => kind).sort(), JSON.stringify(text)).toEqual(['log', 'progress']);
        expect(lines.find(({ kind }) => kind === 'log')?.text.startsWith(printable(text).slice(0, 400))).toBe(
          true,
        );
      }
      await expectUnharmed();
    }, 60_000);

    test('a cursor that was tampered with is refused or shows a page, never more than it should', async () => {
      const pages: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await database.storage.jobs(
          { queue: canaries },
          { limit: 7, ...(cursor === undefined ? {} : { cursor }) },
        );
        cursor = page.next ?? undefined;
        if (cursor !== undefined) pages.push(cursor);
      } while (cursor !== undefined);
      expect(pages.length).toBeGreaterThan(0);
      for (const given of pages) {
        for (const bad of tampered(given)) {
          const page = await tried(() =>
            database.storage.jobs({ queue: canaries }, { limit: 7, cursor: bad }),
          );
          for (const job of page?.jobs ?? []) expect(job.queue).toBe(canaries);
        }
      }
      await expectUnharmed();
    });
  });
}

/** What is kept of a text outside of payloads and results: see `describeFailure`. */
function printable(text: string): string {
  return text.replaceAll('\0', '␀').replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** The cursor cut, grown, with other letters in it, and with every part of what it encodes replaced. */
function tampered(cursor: string): string[] {
  const changed = [
    cursor.slice(1),
    cursor.slice(0, -1),
    `${cursor}AAAA`,
    cursor.toUpperCase(),
    '',
    '0',
    '-1',
    'null',
  ];
  for (let at = 0; at < cursor.length; at += 3)
    changed.push(`${cursor.slice(0, at)}~${cursor.slice(at + 1)}`);
  const decoded = Buffer.from(cursor, 'base64url').toString();
  for (const part of ["'", '9'.repeat(30), '-5', '1e9', '{}', '[]', 'null', '"x"', '\0']) {
    changed.push(Buffer.from(decoded.replace(/\d+/, part)).toString('base64url'));
    changed.push(Buffer.from(decoded.replace(/"[^"]*"/, part)).toString('base64url'));
    changed.push(Buffer.from(decoded.replace(/,[^,]*\]$/, `,${part}]`)).toString('base64url'));
    changed.push(Buffer.from(part).toString('base64url'));
  }
  return changed;
}
