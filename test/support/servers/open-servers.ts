import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SERVER_ENGINES, type ServerEngine } from './engine.js';
import type { KeeperAnswer, KeeperRequest, ServerMap } from './keeper.js';

export interface OpenServersOptions {
  /** @default all */
  engines?: readonly ServerEngine[];
  /** Servers to use, instead of those that the environment names. */
  urls?: Partial<Record<ServerEngine, string>>;
  /** Leaves out servers that run already, named by the environment or on the default port. @default false */
  onlyPrivate?: boolean;
}

export interface TestServers extends AsyncDisposable {
  readonly runId: string;
  readonly servers: ServerMap;
  /** The process that cleans up once this run has ended, in whatever way. */
  readonly keeperPid: number;
  close(): Promise<void>;
}

/** Finds or starts the database servers of one run. `close` drops its databases and stops what it started. */
export async function openServers(options: OpenServersOptions = {}): Promise<TestServers> {
  const request: KeeperRequest = {
    engines: [...(options.engines ?? SERVER_ENGINES)],
    urls: options.urls ?? {},
    onlyPrivate: options.onlyPrivate ?? false,
  };
  const here = dirname(fileURLToPath(import.meta.url));
  const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib/jiti-cli.mjs');
  const keeper = spawn(process.execPath, [jiti, join(here, 'keeper.ts'), JSON.stringify(request)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(keeper, 'exit');
  keeper.stdin.on('error', () => {}); // a keeper that died early is reported through its missing answer
  const [line] = await Promise.race([once(createInterface({ input: keeper.stdout }), 'line'), exited]);
  if (typeof line !== 'string') throw new Error(`the keeper of the test servers ended early, code ${line}`);

  const close = async () => {
    // Its handle counts again, or the loop could run empty and end the process before the keeper has.
    keeper.ref();
    keeper.stdin.end();
    const [code] = await exited;
    if (code !== 0) throw new Error(`the keeper of the test servers could not clean up, code ${code}`);
  };
  const answer = JSON.parse(line) as KeeperAnswer;
  if ('error' in answer) {
    await close();
    throw new Error(answer.error);
  }
  // A caller that forgets to close must still be able to end: its end is what the keeper waits for.
  keeper.unref();
  for (const stream of [keeper.stdin, keeper.stdout]) (stream as { unref?: () => void }).unref?.();
  return {
    runId: answer.runId,
    servers: answer.servers,
    keeperPid: keeper.pid ?? 0,
    close,
    [Symbol.asyncDispose]: close,
  };
}
