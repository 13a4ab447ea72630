import { randomBytes } from 'node:crypto';
import type { EngineAdapter } from './engine.js';

/*
 * Databases are named millrace_test_<start of the run, seconds, base 36>_<random>_<process>_<number>. The
 * start of the run tells another run's sweep how old a left-over is; the run's own prefix drops all of its own.
 */
const PREFIX = 'millrace_test_';
const LEFTOVER_AGE_S = 4 * 60 * 60;

export function newRunId(): string {
  return `${nowSeconds().toString(36)}_${randomBytes(4).toString('hex')}`;
}

let count = 0;

export function newDatabaseName(runId: string): string {
  count += 1;
  return `${PREFIX}${runId}_${process.pid}_${count}`;
}

export async function dropDatabasesOfRun(adapter: EngineAdapter, url: string, runId: string): Promise<void> {
  for (const { name } of await adapter.findDatabases(url, `${PREFIX}${runId}_`)) {
    await adapter.dropDatabase(url, name);
  }
}

/** Drops what runs that died hours ago have left; a database that somebody still uses is left alone. */
export async function dropLeftovers(adapter: EngineAdapter, url: string): Promise<void> {
  for (const { name, inUse } of await adapter.findDatabases(url, PREFIX)) {
    const startedAt = Number.parseInt(name.slice(PREFIX.length).split('_')[0] ?? '', 36);
    if (inUse || Number.isNaN(startedAt) || nowSeconds() - startedAt < LEFTOVER_AGE_S) continue;
    await adapter.dropDatabase(url, name);
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
