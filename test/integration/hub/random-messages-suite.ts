/**
 * Whatever a worker sends, in whatever order: the hub stays up, each message that can be told by its id is answered, other
 * workers notice nothing, and nothing of a connection is left when it ends.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { Hub } from '../../../src/hub/hub.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { Storage } from '../../../src/storage/storage.js';
import { openEngine } from '../../support/engines.js';
import {
  opcodes,
  openRawLink,
  type RawFrame,
  type RawLink,
  rawBeat,
  rawHello,
} from '../../support/raw-link.js';
import { testSeed } from '../../support/test-seed.js';
import { waitFor } from '../../support/wait-for.js';

type Json = Readonly<Record<string, unknown>>;

const deadlineMs = 30_000;
/** A server takes its time for each of them, and differs from the others in few things. */
const runsOf = (engine: Engine): number => (engine === 'memory' || engine === 'sqlite' ? 100 : 40);
const incarnation = '5f0c2a9be1d34788';

/** Mostly what the schema expects, and now and then what it does not. */
const mostly = <T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: odd });

/** NUL, lone surrogates, names of what every object has, quotes of SQL, long ones. */
const oddWords = fc.constantFrom(
  '',
  'a\0b',
  '\ud800',
  '__proto__',
  "'; drop table jobs; --",
  '%',
  'é'.repeat(300),
);
const words = mostly(fc.constantFrom('greet', 'default', 'other', 'constructor', 'a:b.c-d'), oddWords);
const texts = mostly(fc.string({ unit: 'grapheme', maxLength: 40 }), oddWords);
const numbers = mostly(
  fc.integer({ min: 0, max: 50 }),
  fc.constantFrom(-1, 0.5, 1e300, -1e300, 2 ** 53, 2 ** 31, 86_400_000, Number.MIN_VALUE),
);
const aboveZero = mostly(fc.integer({ min: 1, max: 5 }), numbers);
const ids = mostly(
  fc.oneof(fc.uuid({ version: 7 }), fc.constantFrom('019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b')),
  fc.constantFrom('019A1B2C-3D4E-7F50-8A6B-7C8D9E0F1A2B', ''),
);
const tokens = mostly(
  fc.integer({ min: 0, max: 9 }).map((digit) => `${incarnation}f00000010000000${digit}`),
  fc.constantFrom('0'.repeat(32), 'x', ''),
);
const leases = fc.record({ id: ids, token: tokens });
const list = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 3 });
const nullable = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { freq: 2 });

const take = fc.record({
  queues: fc.array(words, { minLength: 1, maxLength: 3 }),
  names: fc.array(words, { minLength: 1, maxLength: 3 }),
  limit: aboveZero,
  start: numbers,
});
const want = fc.record({
  after: numbers,
  takes: fc.oneof({ weight: 3, arbitrary: take.map((one) => [one]) }, { weight: 1, arbitrary: list(take) }),
  alone: mostly(fc.constant(false), fc.boolean()),
});
const settlement = fc
  .record({
    lease: leases,
    ending: fc.oneof(
      fc.record({ kind: fc.constant('completed'), result: nullable(texts) }),
      fc.record({ kind: fc.constant('retry'), delayMs: numbers, errors: texts }),
      fc.record({
        kind: fc.constant('buried'),
        reason: fc.constantFrom('non-retriable', 'poison'),
        errors: texts,
      }),
      fc.record({ kind: fc.constant('cancelled'), reason: nullable(texts) }),
      fc.record({ kind: fc.constant('snoozed'), delayMs: numbers }),
      fc.record({ kind: fc.constant('put-back'), delayMs: numbers, reason: texts }),
      fc.record({ kind: fc.constant('died'), delayMs: numbers, alone: fc.boolean(), errors: texts }),
    ),
    kind: mostly(fc.constant(null), fc.constant('sung')),
  })
  .map(({ lease, ending, kind }) => ({ ...lease, ...ending, ...(kind === null ? {} : { kind }) }));
const newJob = fc.record({
  id: ids,
  name: words,
  queue: words,
  payload: mostly(fc.json(), texts),
  version: mostly(fc.constantFrom(1, 2), fc.constant(2 ** 40)),
  tags: mostly(fc.constantFrom([], ['a', 'b']), list(words)),
  priority: numbers,
  due: fc.oneof(fc.record({ inMs: numbers }), fc.record({ atMs: numbers })),
  maxAttempts: mostly(fc.constantFrom(1, 3), fc.constantFrom(2 ** 33, 2 ** 52)),
  retentionMs: nullable(numbers),
  unique: nullable(
    fc.record({ key: texts, scope: fc.constantFrom('waiting', 'active', 'period'), periodMs: numbers }),
  ),
  idempotency: nullable(fc.record({ key: texts, inputHash: texts })),
  after: fc.option(fc.record({ ids: list(ids), onFailure: fc.constantFrom('bury', 'cancel', 'run') }), {
    freq: 8,
  }),
  limit: nullable(fc.record({ group: words, key: nullable(texts), max: nullable(aboveZero) })),
  cost: aboveZero,
  requires: mostly(fc.constant([]), list(words)),
});
const line = fc.record({
  id: ids,
  token: tokens,
  seq: aboveZero,
  kind: fc.constantFrom('log', 'progress'),
  level: fc.constantFrom('info', 'debug'),
  text: texts,
});
const note = fc.record({ name: words, count: aboveZero, totalMs: numbers, maxRssBytes: nullable(numbers) });
const typed = <T>(type: string, shape: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Json> =>
  fc.record(shape).map((more) => ({ type, ...more }));

const settle = typed('settle', { settlements: list(settlement), want: mostly(want, fc.constant(null)) });
const messages: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: settle },
  { weight: 3, arbitrary: typed('dispatch', { jobs: list(newJob) }) },
  fc.constant(rawBeat(0)),
  typed('started', { leases: list(leases) }),
  typed('log', { lines: list(line) }),
  typed('ask-profiles', { names: list(words), windowMs: aboveZero }),
  typed('profile-notes', { notes: list(note) }),
  typed('look', { takes: list(take) }),
  typed('ask-queues', {}),
  typed('turn', { wanted: fc.boolean() }),
  typed('ask-backlog', { queues: nullable(list(words)), except: list(words) }),
  fc.constant(rawHello({ incarnation })),
  typed('sing', { song: fc.json() }),
);

type Step =
  | { readonly kind: 'message'; readonly message: Json; readonly withoutField: string | null }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'frame'; readonly frame: RawFrame }
  /** Waits for what was asked, so that what follows can be about jobs that were assigned. */
  | { readonly kind: 'pause' }
  | { readonly kind: 'goodbye' };

const broken = mostly(
  fc.constant(null),
  fc.constantFrom('type', 'want', 'settlements', 'jobs', 'status', 'takes', 'names'),
);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({ kind: fc.constant('message' as const), message: messages, withoutField: broken }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('text' as const), text: fc.oneof(fc.json(), fc.string()) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('frame' as const),
      frame: fc.record({
        opcode: fc.integer({ min: 0, max: 15 }),
        payload: fc.string({ maxLength: 200 }),
        isFinal: fc.boolean(),
        isMasked: fc.boolean(),
      }),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ kind: 'pause' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'goodbye' as const }) },
);

const unanswered = new Set(['log', 'profile-notes']);

/** Those that were answered, each as often as it was. */
function answered(link: RawLink): number[] {
  const texts = link.frames
    .filter(({ opcode }) => opcode === opcodes.text)
    .map(({ payload }) => payload.toString());
  return texts.flatMap((text) => {
    const { re } = JSON.parse(text) as { re?: number | null };
    return typeof re === 'number' ? [re] : [];
  });
}

const isClosed = (link: RawLink): boolean =>
  link.isEnded || link.frames.some(({ opcode }) => opcode === opcodes.close);

/** Of all that was assigned on this connection, in place of those that were made up, as far as they go. */
function withRealLeases(message: Json, link: RawLink): Json {
  const assigned = link.frames.flatMap(({ payload }) => {
    const text = payload.toString();
    return text.includes('"type":"assign"')
      ? (JSON.parse(text) as { jobs: { id: string; token: string }[] }).jobs
      : [];
  });
  const real = (rows: unknown): unknown =>
    (rows as Json[]).map((row, index) => {
      const job = assigned[index];
      return job === undefined ? row : { ...row, id: job.id, token: job.token };
    });
  if (message['type'] === 'settle') return { ...message, settlements: real(message['settlements']) };
  if (message['type'] === 'started') return { ...message, leases: real(message['leases']) };
  if (message['type'] === 'log') return { ...message, lines: real(message['lines']) };
  return message;
}

/** Sends one of them; true: it is to be answered. */
function send(link: RawLink, step: Exclude<Step, { kind: 'pause' }>, id: number): boolean {
  if (step.kind === 'frame') link.frame(step.frame);
  if (step.kind === 'text') link.text(step.text);
  if (step.kind === 'goodbye') link.text({ ...rawBeat(id), type: 'goodbye' });
  if (step.kind !== 'message') return step.kind === 'goodbye';
  const all = Object.entries({ ...withRealLeases(step.message, link), id });
  const message = Object.fromEntries(all.filter(([key]) => key !== step.withoutField));
  link.text(message);
  return !unanswered.has(String(message['type']));
}

async function play(link: RawLink, steps: readonly Step[]): Promise<void> {
  const asked: number[] = [];
  const settled = async (): Promise<void> => {
    const missing = (): number[] => asked.filter((id) => !answered(link).includes(id));
    await waitFor(() => isClosed(link) || missing().length === 0, {
      describe: () => `answers to ${missing().join(', ')} of ${JSON.stringify(steps)}`,
      deadlineMs,
    });
  };
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'pause') await settled();
    else if (send(link, step, index + 2)) asked.push(index + 2);
  }
  await settled();
}

/** After all that, a job that is dispatched goes to whoever has room for it. */
async function expectToWork(bystander: RawLink, storage: Storage): Promise<void> {
  await using millrace = new Millrace({ database: storage, jobs: [] });
  const takes = [{ queues: ['default'], names: ['after-all'], limit: 1, start: 1 }];
  bystander.text({ type: 'settle', id: 1_000_000, settlements: [], want: { after: 0, takes, alone: false } });
  expect(await bystander.next('assign')).toMatchObject({ re: 1_000_000, jobs: [] });
  const { id } = await millrace.dispatch('after-all', {});
  expect(await bystander.next('assign')).toMatchObject({ re: null, jobs: [{ id }] });
}

export function randomMessagesSuite(engine: Engine): void {
  it('answers what it can, stays up, and leaves others alone', { timeout: 240_000 }, async () => {
    await using stage = await openEngine(engine);
    const { storage } = stage;
    const { values: settings } = resolveSettings({});
    await using hub = new Hub({ storage, settings, port: 0, logger: silentLogger });
    await hub.start();
    using bystander = await openRawLink(hub.port, { path: '/workers/w-bystander/link' });
    bystander.text(rawHello());
    await bystander.next('welcome');
    let beats = 1;
    const everyone = fc.array(anyStep, { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(everyone, async (all) => {
        using link = await openRawLink(hub.port, { path: '/workers/w-random/link' });
        link.text(rawHello({ incarnation, ended: null }));
        await play(link, all);
        beats += 1;
        bystander.text(rawBeat(beats));
        expect(await bystander.next('beat-ack')).toMatchObject({ re: beats });
        link[Symbol.dispose]();
        await waitFor(() => hub.health.connections === 1 && hub.health.workers === 1, {
          describe: () => `the connection to be gone: ${JSON.stringify(hub.health)}`,
          deadlineMs,
        });
        // One that is waited for is counted once, however often it came and went.
        expect(hub.health.absent).toBeLessThanOrEqual(1);
      }),
      { numRuns: runsOf(engine), seed: testSeed() },
    );
    await expectToWork(bystander, storage);
  });
}
