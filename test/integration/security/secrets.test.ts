import { inspect } from 'node:util';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { isMillraceError } from '../../../src/internal/errors.js';
import { createLineLogger, type Logger } from '../../../src/internal/logger.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { killSessions } from '../../support/kill-sessions.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const password = 's3cr3t-P@ss/w:rd#1';
const core = 's3cr3t';

/** Everything a user could see: what is logged at every level, and every error with all it carries. */
class Witness {
  readonly seen: string[] = [];
  readonly logger: Logger;

  constructor() {
    const lines = [true, false].map((json) =>
      createLineLogger({ level: 'debug', json, write: (line) => this.seen.push(line) }),
    );
    const log =
      (level: keyof Logger) =>
      (message: string, fields?: Readonly<Record<string, unknown>>): void => {
        this.note([message, fields]);
        for (const line of lines) line[level](message, fields);
      };
    this.logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  }

  note(value: unknown): void {
    this.seen.push(inspect(value, { depth: 12, showHidden: true }));
    if (value instanceof Error) this.seen.push(String(value), value.stack ?? '', JSON.stringify(value) ?? '');
  }

  async failureOf(call: () => Promise<unknown>): Promise<void> {
    const error: unknown = await call().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(isMillraceError(error), inspect(error)).toBe(true);
    this.note(error);
  }

  expectClean(): void {
    expect(this.seen.length).toBeGreaterThan(0);
    expect(this.seen.filter((text) => text.includes(core))).toEqual([]);
  }
}

function withLogin(address: string, user: string): string {
  const url = new URL(address);
  url.username = user;
  url.password = encodeURIComponent(password);
  return url.href;
}

/** A user of the server whose password is the secret; gone with the database at the end. */
async function withUser(
  engine: 'postgres' | 'mysql',
  address: string,
): Promise<{ url: string } & AsyncDisposable> {
  const user = `millrace_secret_${process.pid}_${Date.now().toString(36)}`;
  if (engine === 'postgres') {
    const run = async (text: string): Promise<void> => {
      const client = new pg.Client({ connectionString: address });
      // It may still say goodbye when its database is dropped.
      client.on('error', () => undefined);
      await client.connect();
      await client.query(text);
      await client.end();
    };
    const database = new URL(address).pathname.slice(1);
    await run(`create role ${user} login superuser password '${password}'`);
    return {
      url: withLogin(address, user),
      [Symbol.asyncDispose]: () =>
        run(
          `reassign owned by ${user} to current_user; alter database ${database} owner to current_user; drop role ${user}`,
        ),
    };
  }
  const run = async (text: string): Promise<void> => {
    const connection = await mysql.createConnection(address);
    await connection.query(text);
    await connection.end();
  };
  await run(`create user '${user}'@'%' identified by '${password}'`);
  await run(`grant all on *.* to '${user}'@'%'`);
  return { url: withLogin(address, user), [Symbol.asyncDispose]: () => run(`drop user '${user}'@'%'`) };
}

for (const engine of ['postgres', 'mysql'] as const) {
  const scheme = engine;

  describe(`[${engine}] the password of an address`, () => {
    test('shows in no error about the address', async () => {
      const witness = new Witness();
      const addresses = [
        `${scheme}://user:${encodeURIComponent(password)}@127.0.0.1:1/db`,
        `${scheme}://user:${password}@127.0.0.1:1/db`,
        `${scheme}://user:${core}%zz@127.0.0.1:1/db`,
        `${scheme}://user:${core}%@127.0.0.1:1/db`,
        `${scheme}://us er:${core}@[::bad/db`,
        `${scheme}://user:${core}@host:99999/db`,
        `${scheme}://user:${core}@/`,
        `${scheme}://:${core}@127.0.0.1:1/db?unknown=1`,
        `${scheme}://user@127.0.0.1:1/db?password=${core}`,
        `${scheme}:user:${core}@127.0.0.1/db`,
        `${scheme}//user:${core}@127.0.0.1/db`,
        `${scheme}://user:two words ${core}@127.0.0.1:1/db`,
        `user:${core}@127.0.0.1/db`,
        `${core}@127.0.0.1/db`,
        `  ${scheme}://user:${core}@127.0.0.1:1/db?schema=1%20x&tablePrefix=1%20x`,
        `redis://user:${core}@127.0.0.1:1/db`,
      ];
      for (const database of addresses) {
        await witness.failureOf(async () => {
          await using millrace = new Millrace({ database, logger: witness.logger, dispatchTimeout: '50ms' });
          await millrace.open();
        });
        await witness.failureOf(async () => {
          const storage = await createStorage(database, { logger: witness.logger });
          await storage.open();
        });
      }
      witness.expectClean();
    });
  });

  describe.skipIf(!engineAvailable(engine))(`[${engine}] the password of an address in use`, () => {
    test('shows in no log line or error of a worker whose connections are refused, cut and killed', async () => {
      const witness = new Witness();
      await using database = await emptyDatabase(engine);
      await using user = await withUser(engine, database.address);
      await using proxy = await tcpProxy(user.url);
      await using killer = await killSessions(engine, database.address);
      const fail = defineJob('fail', {
        attempts: 1,
        run: ({ log }) => {
          log.info('fails');
          throw new Error('as asked');
        },
      });
      await using millrace = new Millrace({
        database: proxy.url,
        jobs: [fail],
        logger: witness.logger,
        migrate: 'auto',
        workerSleep: '100ms',
      });
      await using worker = millrace.worker();
      await worker.start();
      for (const disturb of [() => killer.killAll(), () => proxy.cut('reset'), () => proxy.cut()]) {
        await disturb();
        const handle = await millrace.dispatch('fail', {});
        await witness.failureOf(() => handle.result({ timeout: '20s' }));
        witness.note(await handle.job());
        witness.note(await millrace.log(handle.id));
      }
      witness.note([await millrace.workers(), millrace.internals.settings, worker]);
      await waitFor(() => worker.lifecycle === 'RUNNING', { describe: 'the worker to be well' });
      await worker.stop();
      for (const wrong of [
        proxy.url.replace('s3cr3t', 's3cr3t0'),
        proxy.url.replace(/\/\w+$/, '/no_such_database'),
        proxy.url.replace(/\/\/\w+:/, '//nobody:'),
      ]) {
        await using other = new Millrace({ database: wrong, logger: witness.logger });
        // A server that trusts everyone takes a wrong password; what it says of the rest must be clean all the same.
        await other.open().catch((error: unknown) => witness.note(error));
      }
      witness.expectClean();
    });
  });
}
