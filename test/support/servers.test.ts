import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { newDatabaseName } from './servers/databases.js';
import { openServers } from './servers/open-servers.js';
import { ADAPTERS } from './servers/resolve.js';
import { currentRun, type ServerEngine, serverAvailable, type TestServers, testDatabase } from './servers.js';
import { waitFor } from './wait-for.js';

const JITI = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib/jiti-cli.mjs');
const HOLD_SERVER = join(import.meta.dirname, 'servers/hold-private-server.ts');

const ENGINES = ['postgres', 'mysql'] as const;

describe.each(ENGINES)('test databases [%s]', (engine) => {
  test.skipIf(!serverAvailable(engine))('each is empty, of its own, and dropped after use', async () => {
    const url = adminUrl(engine);
    const names: string[] = [];
    {
      await using first = await testDatabase(engine);
      await using second = await testDatabase(engine);
      names.push(first.name, second.name);
      expect(first.url).not.toBe(second.url);
      expect(await ADAPTERS[engine].inspect(first.url)).toBe(first.version);
      expect(await databases(engine, url, 'millrace_test_')).toEqual(expect.arrayContaining(names));
    }
    for (const name of names) expect(await databases(engine, url, name)).toEqual([]);
  });

  test.skipIf(!serverAvailable(engine))('a run drops what its tests left when it closes', async () => {
    const run = await openServers({ engines: [engine], urls: { [engine]: adminUrl(engine) } });
    const { name } = await testDatabase(engine, run);
    expect(await databases(engine, adminUrl(engine), name)).toEqual([name]);
    await run.close();
    expect(await databases(engine, adminUrl(engine), name)).toEqual([]);
  });

  test.skipIf(!serverAvailable(engine))('a run drops what a run that died hours ago left', async () => {
    const adapter = ADAPTERS[engine];
    const fiveHoursAgo = Math.floor(Date.now() / 1000) - 5 * 60 * 60;
    const leftover = newDatabaseName(`${fiveHoursAgo.toString(36)}_dead`);
    const recent = newDatabaseName(`${Math.floor(Date.now() / 1000).toString(36)}_alive`);
    await adapter.createDatabase(adminUrl(engine), leftover);
    await adapter.createDatabase(adminUrl(engine), recent);
    try {
      await using _run = await openServers({ engines: [engine], urls: { [engine]: adminUrl(engine) } });
      expect(await databases(engine, adminUrl(engine), leftover)).toEqual([]);
      expect(await databases(engine, adminUrl(engine), recent)).toEqual([recent]);
    } finally {
      await adapter.dropDatabase(adminUrl(engine), recent);
    }
  });

  test.skipIf(!canStartPrivate(engine))('a private server starts, answers, and leaves nothing', async () => {
    const run = await openServers({ engines: [engine], onlyPrivate: true });
    const server = usable(run, engine);
    expect(server.source).toBe('private');
    {
      await using database = await testDatabase(engine, run);
      expect(await ADAPTERS[engine].inspect(database.url)).toBe(server.version);
    }
    expect(foldersOf(run.keeperPid)).toHaveLength(1);
    await run.close();
    expect(foldersOf(run.keeperPid)).toEqual([]);
    await expect(ADAPTERS[engine].inspect(server.url)).rejects.toThrow();
  });
});

describe.skipIf(!canStartPrivate('postgres'))('a run that is killed', () => {
  test('leaves no private server, no folder and no keeper', async () => {
    const child = spawn(process.execPath, [JITI, HOLD_SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const run = JSON.parse(String(line)) as TestServers;
    const { url } = usable(run, 'postgres');
    child.kill('SIGKILL');
    await waitFor(() => !isRunning(run.keeperPid), { describe: 'the keeper to end', deadlineMs: 20_000 });
    expect(foldersOf(run.keeperPid)).toEqual([]);
    await expect(ADAPTERS.postgres.inspect(url)).rejects.toThrow();
  });
});

function canStartPrivate(engine: ServerEngine): boolean {
  return process.env.MILLRACE_TEST_ENGINES === undefined && ADAPTERS[engine].hasPrograms();
}

function usable(run: Pick<TestServers, 'servers'> | undefined, engine: ServerEngine) {
  const server = run?.servers[engine];
  if (!server || !('url' in server)) throw new Error(`no ${engine} server: ${JSON.stringify(server)}`);
  return server;
}

function adminUrl(engine: ServerEngine): string {
  return usable(currentRun(), engine).url;
}

async function databases(engine: ServerEngine, url: string, prefix: string): Promise<string[]> {
  return (await ADAPTERS[engine].findDatabases(url, prefix)).map(({ name }) => name);
}

function foldersOf(keeperPid: number): string[] {
  const bases = new Set([tmpdir(), '/tmp']);
  return [...bases]
    .flatMap((base) => readdirSync(base))
    .filter((name) => name.startsWith(`millrace-server-${keeperPid}-`));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // no such process
  }
}
