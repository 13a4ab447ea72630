import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const config = fileURLToPath(new URL('millrace.config.ts', import.meta.url));
const usualPort = 8000;
const upPattern = /(http:\/\/\S+)/;

/** `millrace up` in a process of its own: a hub, and a worker that takes its jobs from it. */
export class MillraceUp implements AsyncDisposable {
  /** Where the hub answers. */
  readonly url: string;
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, ended: Promise<number>) {
    this.#child = child;
    this.url = url;
    this.ended = ended;
  }

  /**
   * Resolves once its worker runs. On the usual port, or where that is taken on any that is free.
   *
   * @param command the file of the command line
   * @param pages host and port of what its browser lane takes pictures of; null: it has none
   */
  static async start(
    command: string,
    { say, pages }: { readonly say: (text: string) => void; readonly pages: string | null },
  ): Promise<MillraceUp> {
    const wanted = Number(process.env['HUB_PORT'] ?? usualPort);
    if (await isFree(wanted)) {
      const up = await MillraceUp.#try(command, wanted, pages);
      // Somebody may have taken it just now.
      if (up !== null || (await isFree(wanted))) return up ?? failed();
    }
    say(`port ${wanted} is taken, so the hub takes one that is free`);
    return (await MillraceUp.#try(command, 0, pages)) ?? failed();
  }

  /** Null: it ended before it was up; what it had to say stands on stderr. */
  static async #try(command: string, port: number, pages: string | null): Promise<MillraceUp | null> {
    const args = ['up', '--config', config, '--port', String(port), '--log-level', 'warn'];
    const child = spawn(process.execPath, [command, ...args], {
      // By the channel it hears when this process is gone, however that ended.
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env:
        pages === null
          ? process.env
          : { MILLRACE_BROWSER_LANES: '1', ...process.env, BROWSER_PRIVATE_TARGETS: pages },
    });
    const ended = new Promise<number>((resolve) => {
      child.once('error', () => resolve(1));
      child.once('exit', (code) => resolve(code ?? 1));
    });
    const url = new Promise<string>((resolve) => {
      let text = '';
      child.stdout?.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const [, found] = upPattern.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    const found = await Promise.race([url, ended.then(() => null)]);
    return found === null ? null : new MillraceUp(child, found, ended);
  }

  /** Lets the worker finish what runs, then ends the hub. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGINT');
    await this.ended;
  }
}

function failed(): never {
  throw new Error('millrace up could not be started; what it met stands above');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
