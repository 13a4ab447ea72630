#!/usr/bin/env node
import { Console } from 'node:console';
import { runCli } from './run-cli.js';

/** A reader that went away (`millrace jobs | head -1`) is no error: what the command does, it still does. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
}

// Stdout is for one document then; what a config or a handler prints goes beside it.
if (process.argv.includes('--json')) globalThis.console = new Console(process.stderr, process.stderr);

const flushDeadlineMs = 2000;

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
    setTimeout(resolve, flushDeadlineMs).unref();
  });
}

const exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  env: process.env,
  cwd: process.cwd(),
});
await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
// What a config file opened for itself (a pool, a watcher) must not keep the command from ending.
process.exit(exitCode === 0 ? process.exitCode : exitCode);
