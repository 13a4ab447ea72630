import type { Command } from 'commander';
import type { Terminal } from './output/terminal.js';

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly database?: string;
  readonly config?: string;
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** What a command is given of the world. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  readonly global: GlobalFlags;
}

/** One command: how it is called, and what it does. It answers with its exit code. */
export interface CommandSpec<Flags extends object = object> {
  /** With its arguments, as in `job <id>`. */
  readonly name: string;
  readonly summary: string;
  /** Shown below the options by `--help`. */
  readonly details?: string;
  readonly examples: readonly string[];
  addOptions?(command: Command): void;
  run(context: CommandContext, args: readonly string[], flags: Flags): Promise<number>;
}
