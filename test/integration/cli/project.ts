import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Millrace } from '../../../src/index.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

export const command = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const deadlineMs = 25_000;

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What stdout says as one JSON document. */
  json<T>(): T;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** A folder below the project. */
  readonly folder?: string;
  /** After which it is killed. @default 25 s */
  readonly longestMs?: number;
}

/** A command that goes on until it is told to stop. */
export interface Started {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Waits until stderr matches. */
  says(pattern: RegExp): Promise<void>;
  readonly ended: Promise<Run>;
}

/** A folder with a config, in which the built command runs. */
export interface Project extends AsyncDisposable {
  readonly path: string;
  readonly database: string;
  file(...parts: string[]): string;
  write(path: string, text: string): Promise<void>;
  run(args: readonly string[], options?: RunOptions): Promise<Run>;
  start(args: readonly string[], options?: RunOptions): Started;
  /** A client of this process on the same database. */
  client(): Millrace;
}

/** Handlers for what tests need: one that completes, one that fails, one that waits for its signal, … */
export const jobsModule = `
import { defineJob, NonRetriable } from 'millrace';
import { setTimeout as pause } from 'node:timers/promises';
import { existsSync } from 'node:fs';
const nasty = '\\u001b[31mred\\u001b[0m \\u0007bell \\u202eback';
export const jobs = [
  defineJob('ok', { async run({ input, log, progress }) { log.info('did it'); progress(1, 2, 'half'); return { got: input }; } }),
  defineJob('fail', { attempts: 1, run() { throw new Error('it broke'); } }),
  defineJob('flaky', { attempts: 5, backoff: { type: 'fixed', base: '1h' }, run() { throw new Error('not now'); } }),
  defineJob('refuse', { run() { throw new NonRetriable('never'); } }),
  defineJob('nasty', { attempts: 1, run({ log }) { log.warn(nasty); throw new Error(nasty); } }),
  defineJob('wait', { async run({ signal, input }) { await pause(input?.ms ?? 60_000, undefined, { signal }); return 'waited'; } }),
  defineJob('chatty', { run() { console.log('chatter of a handler'); return 1; } }),
  defineJob('stubborn', { async run() { await pause(60_000); } }),
  defineJob('reject', { async run() { Promise.reject(new Error('left alone')); await pause(20); return 'still here'; } }),
  defineJob('crash', { async run({ signal }) { setTimeout(() => { throw new Error('out of nowhere'); }, 1); await pause(60_000, undefined, { signal }); } }),
];
`;

export const configModule = `
import { defineConfig } from 'millrace';
import { jobs } from './jobs.mjs';
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs });
`;

/** @param config the text of the config file; null for none */
export async function project(config: string | null = configModule): Promise<Project> {
  if (!existsSync(command)) throw new Error('the commands are tested as built: run "npm run build" first');
  const folder = tempDir('cli');
  const database = `sqlite:${folder.file('data/test.db')}?synchronous=NORMAL`;
  const clients: Millrace[] = [];
  const started: Started[] = [];
  const made: Project = {
    path: folder.path,
    database,
    file: folder.file,
    async write(path, text) {
      const file = folder.file(path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    },
    run: (args, options) => made.start(args, options).ended,
    start(args, options = {}) {
      const run = startCommand(args, { ...options, cwd: join(folder.path, options.folder ?? '.') });
      started.push(run);
      return run;
    },
    client() {
      const client = new Millrace({ database });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of started) if (child.exitCode === null) child.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await Promise.all(clients.map((client) => client.close()));
      await folder[Symbol.asyncDispose]();
    },
  };
  await mkdir(folder.file('data'));
  await made.write('jobs.mjs', jobsModule);
  if (config !== null) await made.write('millrace.config.mjs', config);
  return made;
}

/** The environment of the tests without what would change a command. */
function cleanEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(MILLRACE_|WORKER_|COLUMNS$|NO_COLOR$|FORCE_COLOR$|NODE_OPTIONS$|VITEST)/.test(name),
  );
  return { ...Object.fromEntries(kept), ...extra };
}

function startCommand(args: readonly string[], options: RunOptions & { readonly cwd: string }): Started {
  const child = spawn(process.execPath, [command, ...args], {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    stdio: 'pipe',
    timeout: options.longestMs ?? deadlineMs,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // A command that reads no input may be gone before it was all written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const ended = new Promise<Run>((resolve) => {
    child.on('close', (code) => {
      resolve({ code, stdout, stderr, json: <T>() => JSON.parse(stdout) as T });
    });
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    says: async (pattern) => {
      await waitFor(() => pattern.test(stderr) || child.exitCode !== null, {
        describe: () => `${args.join(' ')} to say ${pattern}; it said:\n${stderr}`,
        deadlineMs,
      });
      if (!pattern.test(stderr)) throw new Error(`it ended without saying ${pattern}; it said:\n${stderr}`);
    },
    ended,
  };
}
