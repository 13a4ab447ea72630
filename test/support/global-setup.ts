import { openServers, SERVER_ENGINES, SERVERS_VARIABLE, type ServerEngine } from './servers.js';

/**
 * Gives a test run its database servers. `MILLRACE_TEST_ENGINES=memory,sqlite` leaves them out; a server
 * that was asked for and is missing fails the run where `CI` is set, and is a skip with a hint elsewhere.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const engines = SERVER_ENGINES.filter(isWanted);
  const run = await openServers({ engines });
  const absent = engines.flatMap((engine) => {
    const server = run.servers[engine];
    // MySQL 8 is optional everywhere: the summary says that it did not run.
    return engine !== 'mysql8' && server && 'missing' in server
      ? [[`${engine}: ${server.missing}`, ...server.refusals].join('\n    ')]
      : [];
  });
  if (absent.length > 0) {
    if (process.env.CI) {
      await run.close();
      throw new Error(`database servers are missing:\n  ${absent.join('\n  ')}`);
    }
    process.stderr.write(`\nTests that need these servers are skipped:\n  ${absent.join('\n  ')}\n\n`);
  }
  process.env[SERVERS_VARIABLE] = JSON.stringify({ runId: run.runId, servers: run.servers });
  return run.close;
}

function isWanted(engine: ServerEngine): boolean {
  const wanted = process.env.MILLRACE_TEST_ENGINES;
  return !wanted || wanted.split(',').includes(engine);
}
