/**
 * One Chrome: spawned by us as the leader of a process group, talked to over its debugging pipe (it ends with its worker, by
 * the end of that pipe), with an environment that is written out here: nothing of the worker's own reaches processes that
 * pages can break into.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { GroupProcess, type ProcessEnd } from '../../internal/group-process.js';
import { CdpConnection } from '../cdp/cdp-connection.js';
import { chromeFlags } from './chrome-flags.js';

export interface ChromeOptions {
  /** Absolute. */
  readonly executable: string;
  /** A folder that is this Chrome's alone; made when it is missing. */
  readonly folder: string;
  readonly hasSandbox: boolean;
  readonly hasSmallShm: boolean;
  /** See `chrome-flags.ts`. */
  readonly proxy: string | null;
  /** Where its libraries are that the machine does not have; null: on the machine. */
  readonly libraries: string | null;
  readonly onStderr: (chunk: Buffer) => void;
  readonly onListenerError: (error: unknown) => void;
  readonly reapMs: number;
}

export class ChromeProcess {
  readonly connection: CdpConnection;
  /** Its alone, absolute. */
  readonly folder: string;
  readonly #process: GroupProcess;

  private constructor(options: ChromeOptions) {
    const { executable, onStderr, reapMs, onListenerError } = options;
    this.folder = options.folder;
    this.#process = new GroupProcess({
      file: executable,
      args: chromeFlags({ ...options, profile: join(options.folder, 'profile') }),
      env: environment(options),
      stdout: 'ignore',
      pipes: 2,
      onStderr,
      reapMs,
    });
    const [write, read] = this.#process.pipes as [Duplex, Duplex];
    this.connection = new CdpConnection({
      write,
      read,
      onListenerError,
      onEnd: (reason) => this.#process.kill(reason),
    });
    void this.#process.ended.then(({ reason }) => this.connection.end(`Chrome ${reason}`));
  }

  /** Spawned, not yet known to be well. */
  static async spawn(options: ChromeOptions): Promise<ChromeProcess> {
    await Promise.all(
      ['home', 'tmp', 'xdg', 'profile'].map((name) =>
        mkdir(join(options.folder, name), { recursive: true, mode: 0o700 }),
      ),
    );
    return new ChromeProcess(options);
  }

  get pid(): number | null {
    return this.#process.pid;
  }

  get ended(): Promise<ProcessEnd> {
    return this.#process.ended;
  }

  /** Kills its whole group at once; every call over its pipe ends. */
  kill(reason: string): void {
    this.#process.kill(reason);
    this.connection.end(reason);
  }
}

function environment({ folder, libraries }: ChromeOptions): NodeJS.ProcessEnv {
  const xdg = join(folder, 'xdg');
  return {
    PATH: process.env['PATH'],
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'tmp'),
    XDG_CONFIG_HOME: xdg,
    XDG_CACHE_HOME: xdg,
    XDG_DATA_HOME: xdg,
    XDG_RUNTIME_DIR: xdg,
    LANG: 'C.UTF-8',
    TZ: process.env['TZ'],
    ...(libraries === null ? {} : { LD_LIBRARY_PATH: libraries }),
  };
}
