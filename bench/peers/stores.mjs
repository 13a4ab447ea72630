import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { conditions } from '../operations/raw-postgres.mjs';

const reachMs = 2_000;
const defaultRedis = 'redis://127.0.0.1:6379';

/**
 * Where queues keep their jobs in this run, by store: `{ create(), about: { version, durability } }` or `{ missing }`. `create()` makes an empty
 * database, `{ of(queue), [Symbol.asyncDispose] }`, where `of` is what the queue's adapter is given.
 */
export async function openStores(engines, wanted) {
  const stores = new Map();
  for (const [engine, target] of engines.targets) stores.set(engine, await engineStore(engine, target));
  for (const [engine, missing] of engines.missing) stores.set(engine, { missing });
  if (wanted.some(({ store }) => store === 'redis')) stores.set('redis', await redisStore());
  return stores;
}

async function engineStore(engine, target) {
  return {
    about: engine === 'postgres' ? await describePostgres(target) : describeSqlite(engine),
    async create() {
      const database = await target.create();
      return {
        of: ({ isOurs }) => (isOurs ? database.url : (database.file ?? database.url)),
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      };
    },
  };
}

async function describePostgres(target) {
  const database = await target.create();
  const client = new pg.Client(database.url);
  try {
    await client.connect();
    return await conditions(client);
  } finally {
    await client.end();
    await database[Symbol.asyncDispose]();
  }
}

/** What ours sets; a queue that sets something else tells so itself. */
function describeSqlite(engine) {
  const synchronous = engine === 'sqlite-full' ? 'FULL' : 'NORMAL';
  return { version: 'SQLite', durability: `journal_mode=wal, synchronous=${synchronous}` };
}

/** Keys of a measurement begin with a prefix of its own, and only those are deleted. */
async function redisStore() {
  const url = process.env.MILLRACE_BENCH_REDIS ?? defaultRedis;
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await Promise.race([client.connect(), lateAfter(reachMs)]);
  } catch (error) {
    client.disconnect();
    return { missing: `no Redis at ${new URL(url).host} (${error.message}); MILLRACE_BENCH_REDIS names one` };
  }
  const about = await describeRedis(client);
  client.disconnect();
  return {
    about,
    async create() {
      const prefix = `millrace-bench-${randomUUID()}`;
      return {
        of: () => ({ ...connectionOf(url), prefix }),
        [Symbol.asyncDispose]: () => removeKeys(new Redis(url), prefix),
      };
    },
  };
}

async function lateAfter(ms) {
  await delay(ms, undefined, { ref: false });
  throw new Error(`no answer within ${ms} ms`);
}

function connectionOf(url) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname,
    port: Number(port || 6379),
    db: Number(pathname.slice(1) || 0),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
}

async function describeRedis(client) {
  const version = /redis_version:(\S+)/.exec(await client.info('server'))?.[1];
  const setting = async (name) => (await client.config('GET', name))[1];
  const [appendOnly, everySync, snapshots] = [
    await setting('appendonly'),
    await setting('appendfsync'),
    await setting('save'),
  ];
  const log = appendOnly === 'yes' ? `appendonly=yes, appendfsync=${everySync}` : 'appendonly=no';
  return {
    version: `Redis ${version}`,
    durability: `${log}, save=${snapshots === '' ? 'never: nothing outlives the server' : `"${snapshots}"`}`,
  };
}

async function removeKeys(client, prefix) {
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000);
    if (keys.length > 0) await client.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
  client.disconnect();
}
