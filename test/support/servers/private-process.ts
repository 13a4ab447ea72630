import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { waitFor } from '../wait-for.js';
import type { Identity } from './binaries.js';

const execute = promisify(execFile);
const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 20_000;

export interface Command {
  program: string;
  args: string[];
  folder: string;
  identity: Identity | undefined;
}

/** Runs a preparing command (initdb and its like) to its end; its output is in the error when it fails. */
export async function runToEnd({ program, args, folder, identity }: Command): Promise<void> {
  await execute(program, args, {
    cwd: folder,
    env: environmentFor(folder),
    timeout: START_DEADLINE_MS,
    ...identity,
  });
}

export interface ServerCommand extends Command {
  /** The signal of an orderly, quick shutdown. */
  stopSignal: NodeJS.Signals;
  isReady: () => Promise<unknown>;
}

/** Starts a server process and waits until it answers; returns how to stop it. */
export async function startServer(command: ServerCommand): Promise<() => Promise<void>> {
  const { program, args, folder, identity, stopSignal } = command;
  const child = spawn(program, args, {
    cwd: folder,
    env: environmentFor(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  });
  const output = tailOf(child);
  const exited = once(child, 'exit');
  exited.catch(() => {}); // a failed spawn is reported below, by the loop that waits for readiness
  try {
    await waitFor(
      async () => {
        if (hasEnded(child)) return 'ended';
        await command.isReady();
        return 'ready';
      },
      { describe: `${program} to accept connections`, deadlineMs: START_DEADLINE_MS, intervalMs: 100 },
    );
    if (hasEnded(child)) throw new Error(`${program} ended with code ${child.exitCode}`);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${program} did not start:\n${output()}`, { cause: error });
  }
  return () => stopProcess(child, stopSignal);
}

async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const ended = await Promise.race([exited, pause(STOP_DEADLINE_MS, 'late', { ref: false })]);
  if (ended !== 'late') return;
  child.kill('SIGKILL');
  await exited;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function tailOf(child: ChildProcess): () => string {
  let text = '';
  const keep = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-4_000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  child.on('error', (error) => keep(Buffer.from(String(error))));
  return () => text;
}

/** Nothing of the caller's PGHOST, MYSQL_HOST or HOME may steer a private server. */
function environmentFor(folder: string): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, LC_ALL: 'C' };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no TCP port to be had on 127.0.0.1');
  return address.port;
}
