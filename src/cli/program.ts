import { Command, CommanderError, Help } from 'commander';
import { MillraceError } from '../internal/errors.js';
import { nearestName } from '../internal/nearest-name.js';
import { version } from '../internal/version.js';
import type { CommandSpec } from './command.js';

export interface ProgramOptions {
  readonly commands: readonly CommandSpec<never>[];
  readonly writeOut: (text: string) => void;
  readonly helpWidth: number;
  /** Runs a command that was understood. */
  readonly run: (
    spec: CommandSpec,
    args: readonly string[],
    flags: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
}

/** The command line as commander knows it. What it can't understand it throws, nothing is written to stderr. */
export function createProgram(options: ProgramOptions): Command {
  const program = prepare(new Command('millrace'), options)
    .description('Durable background jobs: dispatch them, run them, look after them.')
    .version(version, '-V, --version', 'print the version')
    .option('--database <url>', 'sqlite:<file>, postgres://… or mysql://… (MILLRACE_DATABASE)')
    .option('--config <file>', 'use this config file; otherwise millrace.config.* is looked for upward')
    .option('--json', 'print one JSON document instead of text')
    .option('--debug', 'tell what the database does, and show stacks of errors')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText(
      'after',
      '\nExample:\n  $ millrace init\n  $ millrace dispatch hello --payload \'{"name":"world"}\'\n  $ millrace work',
    );
  for (const spec of options.commands as readonly CommandSpec[]) addCommand(program, spec, options);
  return program;
}

function addCommand(program: Command, spec: CommandSpec, options: ProgramOptions): void {
  const command = prepare(program.command(spec.name), options)
    .summary(spec.summary)
    .description(`${spec.summary[0]?.toUpperCase()}${spec.summary.slice(1)}.`)
    .action(async () => {
      await options.run(spec, command.args, command.optsWithGlobals());
    });
  spec.addOptions?.(command);
  const details = spec.details === undefined ? '' : `\n${wrapped(spec.details, options.helpWidth)}\n`;
  const title = spec.examples.length > 1 ? 'Examples' : 'Example';
  command.addHelpText(
    'after',
    `${details}\n${title}:\n${spec.examples.map((line) => `  $ ${line}`).join('\n')}`,
  );
}

/** Paragraphs, one a line of the text, broken between words. */
function wrapped(text: string, width: number): string {
  return text
    .split('\n')
    .map((paragraph) => paragraph.replace(new RegExp(`(.{1,${width}})(?: +|$)`, 'g'), '$1\n').trimEnd())
    .join('\n');
}

function prepare(command: Command, { writeOut, helpWidth }: ProgramOptions): Command {
  return command
    .exitOverride()
    .configureOutput({ writeOut, writeErr: () => undefined, outputError: () => undefined })
    .configureHelp({ helpWidth, showGlobalOptions: true, sortSubcommands: false, subcommandTerm: termOf })
    .showSuggestionAfterError(false)
    .allowExcessArguments(false)
    .helpOption('-h, --help', 'show this help');
}

/** Without `[options]`, which every command has. */
function termOf(this: Help, command: Command): string {
  return Help.prototype.subcommandTerm.call(this, command).replace(' [options]', '');
}

/** `--help` and `--version` end like errors; that is commander's way to say it is done. */
export function isDone(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

/** What commander refused, as one sentence with what was meant. */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): MillraceError {
  const names = program.commands.map((command) => command.name());
  const command = program.commands.find((candidate) => argv.includes(candidate.name()));
  const text = error.message.replace(/^error: /, '').replace(/\.$/, '');
  const help = command === undefined ? 'millrace --help' : `millrace ${command.name()} --help`;
  const known = error.code === 'commander.unknownCommand' ? names : flagsOf(program, command);
  const wrong = /'([^']+)'/.exec(error.message)?.[1]?.split('=')[0];
  const nearest = wrong === undefined ? undefined : nearestName(wrong, known);
  const asked = helpTopic(argv);
  if (error.code === 'commander.help' && asked !== undefined) {
    const meant = nearestName(asked, names);
    return new MillraceError(
      'usage-invalid',
      `unknown command '${asked}'${meant === undefined ? '.' : `. Did you mean ${meant}?`} See: millrace --help`,
      { details: { nearest: meant } },
    );
  }
  if (error.code === 'commander.help') {
    return new MillraceError('usage-invalid', `a command is missing. See: ${help}`);
  }
  const hint = nearest === undefined ? '' : `. Did you mean ${nearest}?`;
  return new MillraceError('usage-invalid', `${text}${hint || '.'} See: ${help}`, { details: { nearest } });
}

/** What `millrace help` was asked about. */
function helpTopic(argv: readonly string[]): string | undefined {
  const words = argv.filter((word) => !word.startsWith('-'));
  return words[0] === 'help' ? words[1] : undefined;
}

/** Nothing but `millrace`: who types that wants to know what there is. */
export function isMissingCommand(error: unknown, argv: readonly string[]): boolean {
  return error instanceof CommanderError && error.code === 'commander.help' && helpTopic(argv) === undefined;
}

function flagsOf(program: Command, command: Command | undefined): string[] {
  return [...program.options, ...(command?.options ?? [])].map(({ long }) => long ?? '');
}
