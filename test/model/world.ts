import type { Lease } from '../../src/storage/claimed-job.js';
import type { FileAddition } from '../../src/storage/job-file.js';

export const MINUTE = 60_000;
/** Time goes on in whole minutes and waits end on half ones: what a run really takes decides nothing. */
export const halfPast = (minutes: number): number => minutes * MINUTE + MINUTE / 2;

export interface World {
  readonly run: string;
  readonly queues: readonly string[];
  readonly names: readonly string[];
  /** Names of handlers with a profile, which are of the whole database. */
  readonly handlers: readonly string[];
  readonly tags: readonly string[];
  readonly groups: readonly string[];
  readonly keys: readonly (string | null)[];
  readonly labels: readonly string[];
  readonly uniqueKeys: readonly string[];
  readonly idempotencyKeys: readonly string[];
  readonly incarnations: readonly string[];
  readonly workerIds: readonly string[];
  readonly duties: readonly string[];
  readonly hubs: readonly string[];
  readonly tokens: readonly string[];
  /** Ids of jobs in the order they were offered, refused ones too. */
  readonly ids: string[];
  /** Every lease ever given, the newest last. */
  readonly leases: Lease[];
  /** Every file that was offered. */
  readonly additions: FileAddition[];
  jobCount: number;
  tokenCount: number;
}

/** Everything named after the run, so that runs can follow one another in one database. */
export function newWorld(run: string): World {
  return {
    run,
    queues: ['a', 'b', 'c'].map((name) => `q-${run}-${name}`),
    names: ['red', 'green', 'blue'],
    handlers: ['red', 'green'].map((name) => `${run}-${name}`),
    tags: ['x', 'X', 'y/z'].map((tag) => `${run}-${tag}`),
    groups: ['g', 'G'].map((group) => `${run}-${group}`),
    keys: [null, 'k', 'K'],
    labels: ['eu', 'gpu'],
    uniqueKeys: ['k', 'K', 'k '].map((key) => `${run}-${key}`),
    idempotencyKeys: ['i', 'j'].map((key) => `${run}-${key}`),
    incarnations: ['00000001', '00000002', '0000000f'].map((part) => run + part),
    workerIds: ['w1', 'w2'].map((id) => `${run}-${id}`),
    duties: ['d1', 'd2'].map((name) => `${run}-${name}`),
    hubs: ['h1', 'h2'].map((name) => `${run}-${name}`),
    tokens: ['t1', 't2', 't3'].map((name) => `${run}-${name}`),
    ids: [],
    leases: [],
    additions: [],
    jobCount: 0,
    tokenCount: 0,
  };
}

/** Later in order than every id of the run before it. */
export function nextId(world: World): string {
  world.jobCount += 1;
  return `${world.run}-0000-7000-8000-${world.jobCount.toString(16).padStart(12, '0')}`;
}

export function nextToken(world: World, incarnation: string): string {
  world.tokenCount += 1;
  return incarnation + world.tokenCount.toString(16).padStart(16, '0');
}
