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
  environment: NodeJS.ProcessEnv;
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
  const named = options.environment[adapter.environmentName];
  if (named && !options.onlyPrivate) {
    const version = await adapter.inspect(named).catch((cause: unknown) => {
      throw new Error(`${adapter.environmentName} names a server that can't be used: ${reasonOf(cause)}`, {
        cause,
      });
    });
    return { server: { url: named, version, source: 'environment' }, release: async () => {} };
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
  if (adapter.defaultUrls.length === 0) return { missing: `${adapter.environmentName} not set` };
  return { missing: `${refusals.join('; ')}. To bring one: ${adapter.installCommand}` };
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message || error.name : String(error);
}
