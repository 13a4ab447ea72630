import { newDatabaseName } from './servers/databases.js';
import type { ServerEngine } from './servers/engine.js';
import type { ServerMap } from './servers/keeper.js';
import { ADAPTERS } from './servers/resolve.js';

export { SERVER_ENGINES, type ServerEngine } from './servers/engine.js';
export { openServers, type TestServers } from './servers/open-servers.js';

/** The environment variable through which a run hands its servers to test processes and their children. */
export const SERVERS_VARIABLE = 'MILLRACE_TEST_SERVERS';

export interface RunServers {
  runId: string;
  servers: ServerMap;
}

export interface TestDatabase extends AsyncDisposable {
  /** URL of the empty database, as Millrace takes it. */
  readonly url: string;
  readonly name: string;
  /** Product with version: `PostgreSQL 15.20`, `MariaDB 10.11.19`. */
  readonly version: string;
}

/** Whether tests of this engine can run here: `describe.skipIf(!serverAvailable('postgres'))`. */
export function serverAvailable(engine: ServerEngine): boolean {
  return serverVersion(engine) !== undefined;
}

/** Product with version, or undefined when no such server is to be had. */
export function serverVersion(engine: ServerEngine): string | undefined {
  const server = currentRun()?.servers[engine];
  return server && 'version' in server ? server.version : undefined;
}

/** Creates an empty database on the run's server; disposing drops it, whoever is still connected. */
export async function testDatabase(engine: ServerEngine, run = currentRun()): Promise<TestDatabase> {
  const server = run?.servers[engine];
  if (!run || !server || !('url' in server)) {
    throw new Error(`no ${engine} server in this run: guard with serverAvailable('${engine}')`);
  }
  const adapter = ADAPTERS[engine];
  const name = newDatabaseName(run.runId);
  const url = await adapter.createDatabase(server.url, name);
  return {
    url,
    name,
    version: server.version,
    [Symbol.asyncDispose]: () => adapter.dropDatabase(server.url, name),
  };
}

/** The servers of the test run that this process belongs to. */
export function currentRun(): RunServers | undefined {
  const text = process.env[SERVERS_VARIABLE];
  return text ? (JSON.parse(text) as RunServers) : undefined;
}
