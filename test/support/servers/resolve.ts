import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { unprivilegedIdentity } from './binaries.js';
import type { EngineAdapter, MissingServer, ResolvedServer, ServerEngine } from './engine.js';
import { mysql, mysql8 } from './mysql.js';
import { postgres } from './postgres.js';

export const ADAPTERS: Readonly<Record<ServerEngine, EngineAdapter>> = { postgres, mysql, mysql8 };

export interface ResolveOptions {
  /** The server to use, whatever else there is. */
  namedUrl: string | undefined;
  /** Leaves out servers that run already, named or on the default port. */
  onlyPrivate: boolean;
}

export interface Resolution {
  server: ResolvedServer | MissingServer;
  release(): Promise<void>;
}

/** In this order: the server that the environment names, one on the default port, a private one. */
export async function resolveServer(engine: ServerEngine, options: ResolveOptions): Promise<Resolution> {
  const adapter = ADAPTERS[engine];
  if (options.namedUrl && !options.onlyPrivate) {
    const url = options.namedUrl;
    const version = await adapter.inspect(url).catch((cause: unknown) => {
      throw new Error(`${adapter.environmentName} names a server that can't be used: ${reasonOf(cause)}`, {
        cause,
      });
    });
    return { server: { url, version, source: 'environment' }, release: async () => {} };
  }

  const refusals: string[] = [];
  for (const url of options.onlyPrivate ? [] : adapter.defaultUrls) {
    try {
      const version = await adapter.inspect(url);
      return { server: { url, version, source: 'default port' }, release: async () => {} };
    } catch (error) {
      refusals.push(`${url}: ${reasonOf(error)}`);
    }
  }
  return (
    (await startPrivate(adapter, refusals)) ?? { server: missing(adapter, refusals), release: async () => {} }
  );
}

async function startPrivate(adapter: EngineAdapter, refusals: string[]): Promise<Resolution | undefined> {
  if (!adapter.hasPrograms()) {
    refusals.push('no programs of such a server on this machine');
    return undefined;
  }
  const folder = await privateFolder();
  const removeFolder = () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  try {
    const { url, stop } = await adapter.startPrivate(folder);
    const version = await adapter.inspect(url);
    return { server: { url, version, source: 'private' }, release: () => stop().finally(removeFolder) };
  } catch (error) {
    refusals.push(`a private server: ${reasonOf(error)}`);
    await removeFolder();
    return undefined;
  }
}

/** Lies where the account that runs the server can reach it, and belongs to that account. */
async function privateFolder(): Promise<string> {
  const identity = unprivilegedIdentity('postgres', 'mysql');
  const base = identity && !(await isOpenToAll(tmpdir())) && existsSync('/tmp') ? '/tmp' : tmpdir();
  const folder = await mkdtemp(join(base, `millrace-server-${process.pid}-`));
  if (identity) {
    // PostgreSQL and MySQL run under different accounts; both make their own closed folder inside.
    await chown(folder, identity.uid, identity.gid);
    await chmod(folder, 0o1777);
  }
  return folder;
}

async function isOpenToAll(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

function missing(adapter: EngineAdapter, refusals: string[]): MissingServer {
  const isOptional = adapter.defaultUrls.length === 0;
  const missing = isOptional ? `${adapter.environmentName} not set` : `no server: ${adapter.installCommand}`;
  return { missing, refusals };
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message || error.name : String(error);
}
