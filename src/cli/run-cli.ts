import { CommanderError } from 'commander';
import type { CommandContext, CommandSpec, GlobalFlags } from './command.js';
import { commands } from './commands/index.js';
import { exitCodeOf, exitCodes } from './exit-codes.js';
import { type OutputStream, Terminal } from './output/terminal.js';
import { createProgram, isDone, isMissingCommand, usageError } from './program.js';

export interface CliIo {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

const narrowestHelp = 60;
const widestHelp = 100;

/** Runs one command line and answers with its exit code. Never throws. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const isDebug = argv.includes('--debug');
  let exitCode: number = exitCodes.ok;
  const terminal = new Terminal({ ...io, isJson: argv.includes('--json') });
  const program = createProgram({
    commands,
    writeOut: (text) => io.stdout.write(text),
    helpWidth: Math.min(Math.max(io.stdout.columns ?? 80, narrowestHelp), widestHelp),
    run: async (spec, args, flags) => {
      exitCode = await runCommand(spec, args, { flags, io, terminal });
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (isDone(error)) return exitCodes.ok;
    const told = error instanceof CommanderError ? usageError(error, program, argv) : error;
    terminal.fail(told, isDebug);
    if (isMissingCommand(error, argv)) io.stderr.write(`\n${program.helpInformation()}`);
    return exitCodeOf(told);
  }
}

async function runCommand(
  spec: CommandSpec,
  args: readonly string[],
  { flags, io, terminal }: { flags: Readonly<Record<string, unknown>>; io: CliIo; terminal: Terminal },
): Promise<number> {
  const global: GlobalFlags = flags;
  const context: CommandContext = { terminal, env: io.env, cwd: io.cwd, stdin: io.stdin, global };
  try {
    return await spec.run(context, args, flags);
  } finally {
    terminal.endProgress();
  }
}
