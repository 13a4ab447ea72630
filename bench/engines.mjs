import { mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createJiti } from 'jiti';
import { ENGINES } from './options.mjs';

const tmpfs = 0x01021994;

/**
 * The engines of this run: `targets` is a map of those that can be measured, `missing` says why others can't. Each
 * target makes empty databases, `{ url, file?, raw, [Symbol.asyncDispose] }`, where `raw` is what a raw measurement is
 * given. An engine that was asked for by name has to be there, unless it `mayMiss`.
 */
export async function openEngines(wanted, { mayMiss = false } = {}) {
  const names = wanted ?? ENGINES;
  const kinds = names.filter((name) => name === 'postgres' || name === 'mysql');
  const servers = kinds.length === 0 ? null : await openServers(kinds);
  const targets = new Map();
  const missing = new Map();
  for (const name of names) {
    if (name.startsWith('sqlite-')) {
      targets.set(name, sqliteTarget(name === 'sqlite-full' ? 'FULL' : 'NORMAL'));
      continue;
    }
    const server = servers.run.servers[name];
    if (server !== undefined && 'url' in server) targets.set(name, servers.target(name));
    else missing.set(name, server?.missing ?? 'not among the servers of this run');
  }
  const close = async () => servers?.close();
  if (wanted !== null && !mayMiss && missing.size > 0) {
    await close();
    throw new Error([...missing].map(([name, why]) => `--engine ${name}: ${why}`).join('; '));
  }
  return { targets, missing, close };
}

async function openServers(engines) {
  const jiti = createJiti(import.meta.url);
  const support = await jiti.import('../test/support/servers.ts');
  const urls = namedServers(process.env);
  const shared = Object.keys(urls).length === 0 ? support.currentRun() : undefined;
  const run = shared ?? (await support.openServers({ engines, urls }));
  return {
    run,
    target: (engine) => ({
      async create() {
        const database = await support.testDatabase(engine, run);
        return {
          url: database.url,
          raw: { operation: `raw-${engine}`, url: database.url },
          [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
        };
      },
    }),
    close: async () => (shared === undefined ? run.close() : undefined),
  };
}

function namedServers(env) {
  const { MILLRACE_BENCH_POSTGRES: postgres, MILLRACE_BENCH_MYSQL: mysql } = env;
  return { ...(postgres && { postgres }), ...(mysql && { mysql }) };
}

function sqliteTarget(synchronous) {
  return {
    create() {
      const folder = mkdtempSync(join(diskFolder(), 'millrace-bench-'));
      const file = join(folder, 'bench.db');
      return {
        url: `sqlite:${file}?synchronous=${synchronous}`,
        file,
        raw: { operation: 'raw-sqlite', file: join(folder, 'raw.db'), synchronous },
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
      };
    },
  };
}

/** A file in memory would make every fsync free. */
function diskFolder() {
  return statfsSync(tmpdir()).type === tmpfs ? fileURLToPath(new URL('.', import.meta.url)) : tmpdir();
}
