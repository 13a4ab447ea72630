import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../../../src/internal/deadline.js';

const program = fileURLToPath(new URL('./storage-child.mjs', import.meta.url));

/** A SQLite storage in another process, ended with the test. */
export class StorageProcess implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(file: string, synchronous: 'FULL' | 'NORMAL') {
    this.#child = fork(program, [file, synchronous]);
  }

  static async start(file: string, synchronous: 'FULL' | 'NORMAL' = 'NORMAL'): Promise<StorageProcess> {
    const started = new StorageProcess(file, synchronous);
    await started.#answer('the process to open the file');
    return started;
  }

  ask(deed: 'enqueue', details: { count: number }): Promise<unknown>;
  ask(deed: 'drain', details: { limit: number }): Promise<string[]>;
  ask(deed: 'migrate', details: Record<string, never>): Promise<{ from: number; to: number }>;
  async ask(deed: string, details: Record<string, number>): Promise<unknown> {
    const answer = this.#answer(deed);
    this.#child.send({ deed, ...details });
    return answer;
  }

  async #answer(name: string): Promise<unknown> {
    const [message] = (await withDeadline(once(this.#child, 'message'), { ms: 60_000, name })) as [
      { answer?: unknown; error?: string },
    ];
    if (message.error !== undefined) throw new Error(message.error);
    return message.answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await withDeadline(ended, { ms: 10_000, name: 'the process to end' });
  }
}
