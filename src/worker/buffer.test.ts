import { expect, it } from 'vitest';
import type { ClaimedJob } from '../storage/claimed-job.js';
import { Buffer } from './buffer.js';

const at = (ms: number) => ({ claimedAtMs: ms, askedAtMs: ms });

const job = (id: string, queue: string): ClaimedJob => ({
  id,
  token: '0'.repeat(32),
  name: 'n',
  queue,
  payload: 'null',
  version: 1,
  priority: 0,
  attempts: 0,
  maxAttempts: 3,
  deaths: 0,
  lapses: 0,
  started: false,
  errors: null,
  createdAtMs: 0,
  dueAtMs: 0,
  limit: null,
  cost: 1,
  requires: [],
});
const drain = (buffer: Buffer): string[] => {
  const ids: string[] = [];
  for (let next = buffer.shift(); next !== undefined; next = buffer.shift()) ids.push(next.job.id);
  return ids;
};

it('gives jobs of an earlier queue first, and within a queue as they came', () => {
  const buffer = new Buffer(['a', 'b']);
  buffer.add([job('b1', 'b'), job('b2', 'b')], at(1));
  buffer.add([job('a1', 'a'), job('b3', 'b')], at(2));
  expect(buffer.size).toBe(4);
  expect(drain(buffer)).toEqual(['a1', 'b1', 'b2', 'b3']);
  expect(buffer.size).toBe(0);
});

it('takes out what is unwanted and keeps the order of the rest, also when some were given already', () => {
  const buffer = new Buffer(['a', 'b']);
  buffer.add([job('a1', 'a'), job('a2', 'a'), job('b1', 'b')], at(1));
  expect(buffer.shift()?.job.id).toBe('a1');
  expect(buffer.remove(({ job: { id } }) => id === 'a2').map(({ job: { id } }) => id)).toEqual(['a2']);
  buffer.add([job('a3', 'a')], at(2));
  expect([...buffer].map(({ job: { id } }) => id)).toEqual(['a3', 'b1']);
  expect(drain(buffer)).toEqual(['a3', 'b1']);
});

it('refuses a job of a queue that was not asked for', () => {
  expect(() => new Buffer(['a', 'b']).add([job('c1', 'c')], at(1))).toThrow('"c"');
});
