/*
 * The process that finds or starts the database servers of one run and cleans up after it.
 *
 * It lives in a session of its own, so Ctrl-C does not reach it, and reads its standard input until that
 * ends. However the run ends (in order, Ctrl-C, SIGKILL), the operating system closes the pipe, and the
 * keeper drops the run's databases, stops the private servers and removes their folders. There is no second
 * way to clean up, so every run exercises this one.
 *
 * Out: one JSON line `{ runId, servers }`, or `{ error }`. It promises nothing when it is itself killed:
 * databases are then dropped by the sweep of a later run.
 */

import { dropDatabasesOfRun, dropLeftovers, newRunId } from './databases.js';
import type { MissingServer, ResolvedServer, ServerEngine } from './engine.js';
import { ADAPTERS, type Resolution, resolveServer } from './resolve.js';

export interface KeeperRequest {
  engines: ServerEngine[];
  urls: Partial<Record<ServerEngine, string>>;
  onlyPrivate: boolean;
}

export type KeeperAnswer = { runId: string; servers: ServerMap } | { error: string };
export type ServerMap = Partial<Record<ServerEngine, ResolvedServer | MissingServer>>;

const runId = newRunId();
const resolutions = new Map<ServerEngine, Resolution>();
const runEnded = new Promise<void>((resolve) => {
  process.stdin.on('end', resolve).on('error', resolve).resume();
});
process.stdout.on('error', () => {}); // the run may be gone before it reads the answer

async function openAll({ engines, urls, onlyPrivate }: KeeperRequest): Promise<KeeperAnswer> {
  const results = await Promise.allSettled(
    engines.map(async (engine) => {
      const namedUrl = urls[engine] ?? process.env[ADAPTERS[engine].environmentName];
      const resolution = await resolveServer(engine, { namedUrl, onlyPrivate });
      resolutions.set(engine, resolution);
      if ('url' in resolution.server) await dropLeftovers(ADAPTERS[engine], resolution.server.url);
    }),
  );
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  if (failures.length > 0) return { error: failures.join('\n') };
  const servers: ServerMap = {};
  for (const [engine, { server }] of resolutions) servers[engine] = server;
  return { runId, servers };
}

async function closeAll(): Promise<void> {
  const results = await Promise.allSettled(
    [...resolutions].map(async ([engine, { server, release }]) => {
      try {
        const isShared = 'url' in server && server.source !== 'private';
        if (isShared) await dropDatabasesOfRun(ADAPTERS[engine], server.url, runId);
      } finally {
        await release();
      }
    }),
  );
  for (const result of results) {
    if (result.status === 'fulfilled') continue;
    process.stderr.write(`test servers: clean-up failed: ${String(result.reason)}\n`);
    process.exitCode = 1;
  }
}

const answer = await openAll(JSON.parse(process.argv[2] ?? '') as KeeperRequest);
process.stdout.write(`${JSON.stringify(answer)}\n`);
await runEnded;
await closeAll();
