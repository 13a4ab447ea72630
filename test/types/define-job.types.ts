/** Checked by the compiler alone: an error that is expected and doesn't come is an error. */
import { z } from 'zod';
import {
  type BrowserJobContext,
  defineJob,
  type JobContext,
  type JobDefinition,
  type JobHandle,
  Millrace,
  snooze,
} from '../../src/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <Expected>() => ({
  of: <Got>(_value: Got, _isEqual: Equal<Got, Expected>): void => undefined,
});

// With a schema: the dispatch takes its input type, the handler gets its output type, `run` gives the result.
const resize = defineJob('resize', {
  input: z.object({
    file: z.string(),
    width: z.string().transform(Number),
    fit: z.enum(['a', 'b']).default('a'),
  }),
  queue: 'media',
  unique: { key: (input) => input.file.toLowerCase() },
  async run({ input, signal, attempt, job, log, progress }) {
    expectType<string>().of(input.file, true);
    expectType<number>().of(input.width, true);
    expectType<'a' | 'b'>().of(input.fit, true);
    expectType<AbortSignal>().of(signal, true);
    progress(attempt, 2, job.id);
    log.info('x', { y: 1 });
    if (attempt > 1) return snooze('5m');
    return { path: input.file, at: new Date(), none: undefined as string | undefined };
  },
});
expectType<'resize'>().of(resize.name, true);

// Without a schema: by the type of the context …
const greet = defineJob('greet', {
  run({ input }: JobContext<{ name: string }>) {
    return `Hello ${input.name}`;
  },
});
// … or by type arguments; then the name is any text, and the output unknown unless given.
const mail = defineJob<{ to: string }>('mail', {
  async run({ input }) {
    expectType<string>().of(input.to, true);
  },
});
const count = defineJob<{ words: string[] }, number>('count', {
  run: ({ input }) => input.words.length,
});
// A type argument that is a text is an input, not a name.
const shout = defineJob<string>('shout', { run: ({ input }) => input.toUpperCase() });

// Without an input; and declared for elsewhere.
const clean = defineJob('clean', { run: async () => 7 });
const elsewhere = defineJob('elsewhere', { input: z.object({ n: z.number() }) });

// The output schema decides what may be returned and what comes out.
const checked = defineJob('checked', {
  output: z.object({ state: z.enum(['on', 'off']), at: z.string() }),
  async run() {
    return { state: 'on' as const, at: 'now' };
  },
});
const both = defineJob('both', {
  input: z.object({ n: z.number() }),
  output: z.object({ n: z.coerce.string() }),
  run({ input }) {
    return { n: input.n };
  },
});
defineJob('wrong-output', {
  output: z.object({ n: z.number() }),
  // @ts-expect-error the schema wants a number
  run: () => ({ n: 'no' }),
});
defineJob('lane', { lane: 'process', run: () => 1 });
// @ts-expect-error there is no such lane
defineJob('thread', { lane: 'thread', run: () => 1 });
// @ts-expect-error attempts is a number
defineJob('attempts', { attempts: '5', run: () => 1 });

const jobs = [resize, greet, mail, count, shout, clean, elsewhere, checked, both] as const;
export const asDefinitions: readonly JobDefinition[] = jobs;
const millrace = new Millrace({ database: 'memory:', jobs, attempts: 5, killGrace: '5s' });

export async function dispatches(): Promise<void> {
  const resized = await millrace.dispatch(
    resize,
    { file: 'x', width: '3' },
    { delay: '5m', priority: 'high' },
  );
  expectType<{ path: string; at: string; none: string | undefined }>().of(await resized.result(), true);
  // @ts-expect-error the schema's input is a text here
  await millrace.dispatch(resize, { file: 'x', width: 3 });
  // @ts-expect-error an input is needed
  await millrace.dispatch(resize);
  await millrace.dispatch(greet, { name: 'x' }, { tags: ['a'] });
  // @ts-expect-error tags are a list
  await millrace.dispatch(greet, { name: 'x' }, { tags: 'a' });
  await millrace.dispatch(greet, { name: 'x' }, { limit: { key: 'a' }, cost: 5, requires: 'gpu' });
  await millrace.dispatch(greet, { name: 'x' }, { limit: false, requires: ['gpu', 'eu'] });
  // @ts-expect-error a key of one dispatch is a text
  await millrace.dispatch(greet, { name: 'x' }, { limit: { key: () => 'a' } });

  const greeting = await millrace.dispatch(greet, { name: 'Ada' }, { unique: true });
  expectType<string>().of(await greeting.result({ timeout: '1s' }), true);
  // @ts-expect-error another input
  await millrace.dispatch(greet, { nam: 'Ada' });

  expectType<unknown>().of(await (await millrace.dispatch(mail, { to: 'x' })).result(), true);
  expectType<number>().of(await (await millrace.dispatch(count, { words: [] })).result(), true);
  await millrace.dispatch(shout, 'hey');
  // @ts-expect-error the input is a text
  await millrace.dispatch(shout, 5);
  expectType<number>().of(await (await millrace.dispatch(clean)).result(), true);
  await millrace.dispatch(elsewhere, { n: 1 });

  expectType<{ state: 'on' | 'off'; at: string }>().of(
    await (await millrace.dispatch(checked)).result(),
    true,
  );
  expectType<{ n: string }>().of(await (await millrace.dispatch(both, { n: 1 })).result(), true);
}

export async function dispatchesByName(): Promise<void> {
  const handle = await millrace.dispatch('greet', { name: 'Ada' });
  expectType<string>().of(await handle.result(), true);
  // @ts-expect-error the name is known, so its input is checked
  await millrace.dispatch('greet', { nam: 'Ada' });
  await millrace.dispatch('clean');

  const producer = new Millrace({ database: 'memory:' });
  const other = await producer.dispatch('anything', { at: 'all' });
  expectType<JobHandle<unknown>>().of(other, true);
}

export async function dispatchesMany(): Promise<void> {
  const [one, two, three] = await millrace.dispatchMany([
    { job: greet, input: { name: 'a' } },
    { job: 'resize', input: { file: 'x', width: '1' }, options: { delay: 5 } },
    { job: clean },
  ]);
  expectType<JobHandle<string>>().of(one, true);
  expectType<string>().of((await two.result()).path, true);
  expectType<JobHandle<number>>().of(three, true);
  const handles = await millrace.dispatchMany(['a', 'b'].map((name) => ({ job: greet, input: { name } })));
  expectType<JobHandle<string>[]>().of(handles, true);
  await millrace.dispatchMany([
    { job: greet, input: { name: 'a' } },
    // @ts-expect-error another input
    { job: greet, input: { nam: 'a' } },
  ]);
}

/** A handle of anything is a handle. */
export async function collects(): Promise<readonly JobHandle[]> {
  const dated = defineJob('dated', { run: () => ({ at: new Date(), sizes: new Map([['a', 1]]) }) });
  const handle = await millrace.dispatch(dated);
  expectType<JobHandle<{ at: string; sizes: [string, number][] }>>().of(handle, true);
  return [handle, await millrace.dispatch(greet, { name: 'a' })];
}

export async function fromHandlers(): Promise<void> {
  defineJob('parent', {
    async run({ dispatch }) {
      const handle = await dispatch(greet, { name: 'x' }, { delay: '1s' });
      expectType<JobHandle<string>>().of(handle, true);
      await dispatch(clean);
      await dispatch('by-name', { a: 1 });
      // @ts-expect-error another input
      await dispatch(greet, { nam: 'x' });
    },
  });
}

export async function runsNow(): Promise<void> {
  expectType<string>().of(await millrace.runNow(greet, { name: 'x' }), true);
  expectType<number>().of(await millrace.runNow(clean), true);
  // @ts-expect-error another input
  await millrace.runNow(greet, 5);
}

export async function waitsAndWatches(signal: AbortSignal): Promise<void> {
  const options = { timeout: '30s', signal, priority: 'high', tags: ['a'] } as const;
  expectType<string>().of(await millrace.dispatchAndWait(greet, { name: 'x' }, options), true);
  expectType<string>().of(await millrace.dispatchAndWait('greet', { name: 'x' }), true);
  expectType<number>().of(await millrace.dispatchAndWait(clean), true);
  // @ts-expect-error another input
  await millrace.dispatchAndWait(greet, { nam: 'x' });
  // @ts-expect-error no such option
  await millrace.dispatchAndWait(greet, { name: 'x' }, { wait: '1s' });
  for await (const { done, total, at } of (await millrace.dispatch(clean)).progress({ signal })) {
    expectType<number>().of(done, true);
    expectType<number | undefined>().of(total, true);
    expectType<Date>().of(at, true);
  }
}

export async function changesMany(): Promise<void> {
  const report = await millrace.retryMany({ where: { status: 'buried', finishedAfter: '1h' }, dryRun: true });
  expectType<number>().of(report.matched + report.skipped + (report.outcomes.duplicate ?? 0), true);
  await millrace.editMany({ where: { name: 'greet' }, edit: { input: { name: 'y' }, delay: '1h' } });
  // @ts-expect-error no such status
  await millrace.cancelMany({ where: { status: 'done' } });
  // @ts-expect-error which jobs must be said
  await millrace.deleteMany({ dryRun: true });
  // @ts-expect-error what to change must be said
  await millrace.editMany({ where: { tag: 'x' } });
}

export function lifts(): void {
  defineJob('lifted', {
    input: z.object({ all: z.array(z.string()) }),
    upcast: [
      ({ one }: { one: string }) => ({ all: [one] }),
      async (v2: { all: string[] }) => Promise.resolve(v2),
    ],
    run: ({ input }) => expectType<string[]>().of(input.all, true),
  });
  // @ts-expect-error a lift is a function
  defineJob('x', { upcast: ['v1'] });
}

export async function takesUpHandles(id: string): Promise<void> {
  expectType<JobHandle>().of(millrace.handle(id), true);
  expectType<JobHandle<string>>().of(millrace.handle(id, greet), true);
  expectType<JobHandle<string>>().of(millrace.handle(id, 'greet'), true);
}

export function listens(): void {
  millrace.on('job:completed', ({ id, durationMs, attempt }) => {
    expectType<string>().of(id, true);
    expectType<number>().of(durationMs + attempt, true);
  });
  // @ts-expect-error there is no such event
  millrace.on('job:done', () => undefined);
}

// @ts-expect-error not a setting
export const misspelt = new Millrace({ databse: 'memory:' });

/** A client of certain jobs can be handed to what works with any client. */
export const anyClient: Millrace = millrace;

// A page exists in a browser lane, and nowhere else.
const shoot = defineJob('shoot', {
  lane: 'browser',
  input: z.object({ url: z.string() }),
  async run({ input, cdp, tab }) {
    expectType<number>().of(await tab.evaluate((a: number) => a + 1, 1), true);
    expectType<string>().of(await tab.evaluate<string>('document.title'), true);
    expectType<string>().of(input.url, true);
    return (await cdp.send<{ ok: boolean }>('Page.reload')).ok;
  },
});
expectType<JobDefinition<'shoot', { url: string }, { url: string }, boolean>>().of(shoot, true);
defineJob('by context', { lane: 'browser', run: ({ cdp }: BrowserJobContext<{ n: number }>) => cdp });
defineJob<{ n: number }, number>('by arguments', {
  lane: 'browser',
  run: ({ cdp, input }) => [cdp, input.n].length,
});
defineJob<{ n: number }>('declared', { lane: 'process', run: ({ input }) => input.n });
// @ts-expect-error there is no page in the worker itself
defineJob('inline', { run: ({ cdp }) => cdp });
// @ts-expect-error nor in a child process
defineJob('process', { lane: 'process', run: ({ cdp }) => cdp });
