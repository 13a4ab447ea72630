import { expect, test } from 'vitest';
import { type Stage, settlement } from './stage.js';

const MEGABYTE = 1_000_000;

/** JSON texts and names that have broken databases before. */
export function textsSuite(stage: Stage): void {
  const awkward: Record<string, string> = {
    'escaped NUL bytes': '"a\\u0000b\\u0000"',
    'escaped lone surrogates': '"\\ud800 \\udfff x \\udc00\\ud800"',
    emoji: '"😀👩‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿 𝒳 𠜎"',
    'quotes, backslashes and placeholders': `"it's \\"quoted\\" \\\\ $1 ? :name %s -- ; /* x */ \\\\' #"`,
    'control characters': '"\\u0001\\u001f\\n\\r\\t\\b\\f\u007f\u0080\u2028\u2029\ufeff"',
    'right to left and combining marks': '"\u202eabc e\u0301 שלום ﷽"',
    'white space around': ' \n\t{"a" : 1 } \r\n ',
    'numbers of any size': '[1e400,-0,0.1,12345678901234567890,1E-7]',
    'keys in an order of their own': '{"b":1,"a":2,"b":3}',
    'an empty text of JSON': '""',
  };
  for (const [what, text] of Object.entries(awkward)) {
    test(`payload, result and errors with ${what} come back as they went in`, async () => {
      const queue = stage.queue();
      const id = await stage.add(queue, { payload: text });
      await stage.settle(await stage.claimOne(queue), { kind: 'retry', delayMs: 0, errors: text });
      const job = await stage.claimOne(queue);
      expect([job.payload, job.errors]).toEqual([text, text]);
      await stage.settle(job, { kind: 'completed', result: text });
      expect(await stage.record(id)).toMatchObject({ payload: text, result: text, errors: text });
    });
  }

  for (const letters of ['x', '😀', '\\u0000', "\\\\'"]) {
    test(`a megabyte of ${letters} as payload, errors and result round-trips`, async () => {
      const queue = stage.queue();
      const text = `"${letters.repeat(Math.floor(MEGABYTE / Buffer.byteLength(letters)))}"`;
      const id = await stage.add(queue, { payload: text });
      await stage.settle(await stage.claimOne(queue), { kind: 'retry', delayMs: 0, errors: text });
      const job = await stage.claimOne(queue);
      expect(job.payload === text && job.errors === text).toBe(true);
      await stage.settle(job, { kind: 'completed', result: text });
      const record = await stage.record(id);
      expect(record.payload === text && record.errors === text && record.result === text).toBe(true);
    });
  }

  test('a batch may be larger than any packet: twenty jobs of a megabyte each', async () => {
    const queue = stage.queue();
    const text = (index: number) => `"${String(index).padStart(2, '0')}${'x'.repeat(MEGABYTE)}"`;
    const jobs = Array.from({ length: 20 }, (_, index) => stage.newJob(queue, { payload: text(index) }));
    expect((await stage.storage.enqueue(jobs)).every(({ outcome }) => outcome === 'created')).toBe(true);
    const claimed = await stage.claim(queue);
    expect(claimed.map(({ payload }) => payload.slice(0, 3))).toEqual(
      jobs.map(({ payload }) => payload.slice(0, 3)),
    );
    const outcomes = await stage.storage.settle(
      claimed.map((job, index) => settlement(job, { kind: 'completed', result: text(index) })),
    );
    expect(outcomes).toEqual(Array(20).fill('done'));
    expect((await stage.record(jobs[19]?.id ?? '')).result?.length).toBe(text(19).length);
  });

  test('names and queues of every allowed character and full length keep their jobs apart', async () => {
    const start = stage.queue();
    const every = 'ABCXYZabcxyz0189_.:-';
    const queues = [
      `${start}${every}`,
      `${start}_`,
      `${start}.`,
      `${start}:`,
      `${start}-`,
      `${start}A`,
      `${start}a`,
    ];
    const long = `${start}${'q'.repeat(100)}`.slice(0, 99);
    queues.push(`${long}a`, `${long}b`);
    const names = [
      `${every}/`,
      'n'.repeat(100),
      `${'n'.repeat(99)}N`,
      'a/b',
      'a_b',
      'a.b',
      'a%b'.replace('%', ':'),
    ];
    for (const queue of queues) {
      const jobs = names.map((name) => stage.newJob(queue, { name }));
      await stage.storage.enqueue(jobs);
      for (const { id, name } of jobs) {
        expect(await stage.claim(queue, { names: [name] })).toMatchObject([{ id, name, queue }]);
      }
      expect(await stage.stats(queue)).toMatchObject({ queue, processing: names.length, pending: 0 });
    }
  });

  test('worker ids and reasons of any text come back as they went in', async () => {
    const queue = stage.queue();
    const text = `w'\\"😀 $1 ? ${'r'.repeat(150)}`;
    const id = await stage.add(queue);
    const job = await stage.claimOne(queue, { workerId: text.slice(0, 100) });
    await stage.settle(job, { kind: 'put-back', delayMs: 0, reason: text });
    expect(await stage.record(id)).toMatchObject({ reason: text, workerId: text.slice(0, 100) });
    const again = await stage.claimOne(queue);
    await stage.settle(again, { kind: 'cancelled', reason: text });
    expect(await stage.record(id)).toMatchObject({ reason: text, workerId: 'worker-1' });
  });

  test('the priorities at both ends are kept', async () => {
    const queue = stage.queue();
    const low = await stage.add(queue, { priority: -100 });
    const high = await stage.add(queue, { priority: 100 });
    expect((await stage.claim(queue)).map(({ id, priority }) => [id, priority])).toEqual([
      [high, 100],
      [low, -100],
    ]);
  });
}
