import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import { withDeadline } from '../../internal/deadline.js';
import type { LogFields } from '../../internal/logger.js';

const restartCapMs = 5_000;
const startDeadlineMs = 30_000;
/** It makes little garbage, and would let it gather to 16 MB all the same. */
const youngGenerationMb = 4;

/**
 * The file of a thread of this folder, or null where it is not at hand (a bundled application). Sources run by a test
 * runner use the built file.
 */
export function threadFile(name: 'link-thread.js' | 'hub/hub-thread.js'): string | null {
  // Bundled as CommonJS there is no import.meta.
  const url: string | undefined = import.meta.url;
  if (url === undefined) return null;
  const here = fileURLToPath(url);
  const file = here.endsWith('.ts')
    ? here.replace(/([\\/])src([\\/]worker[\\/]link[\\/]).*$/, `$1dist$2${name}`)
    : fileURLToPath(new URL(`./${name}`, url));
  return existsSync(file) ? file : null;
}

export interface ThreadKeeperOptions<Up> {
  readonly file: string;
  /** Given to each thread at its birth. */
  readonly data: object;
  readonly onMessage: (message: Exclude<Up, { type: 'ready' | 'stopped' }>) => void;
  /** A thread is up; also one that was started again. */
  readonly onReady: () => void;
  /** A thread ended that was not told to, and the next one comes. */
  readonly onDeath: (text: string, waitMs: number) => void;
  readonly log: (level: 'warn' | 'error', message: string, fields: LogFields) => void;
}

/** Keeps the link thread: one that dies is started again, with jitter, for ever. Every thread says `ready` and `stopped`. */
export class ThreadKeeper<Down, Up extends { readonly type: string }> {
  readonly #options: ThreadKeeperOptions<Up>;
  #thread: Thread | null = null;
  #restarts = 0;
  #restartTimer: NodeJS.Timeout | null = null;
  #isStopping = false;
  #noteStopped: () => void = () => undefined;
  readonly #stopped: Promise<void>;

  constructor(options: ThreadKeeperOptions<Up>) {
    this.#options = options;
    this.#stopped = new Promise((resolve) => {
      this.#noteStopped = resolve;
    });
  }

  /** At once; what it can't do is logged. */
  start(): void {
    withDeadline(this.#spawn(), { ms: startDeadlineMs, name: 'start of the link thread' }).catch(
      (error: unknown) =>
        this.#options.log('error', 'the link thread could not be started', { error: String(error) }),
    );
  }

  post(message: Down): void {
    this.#thread?.postMessage(message);
  }

  /** It does its work: the next death is the first again. */
  noteWell(): void {
    this.#restarts = 0;
  }

  /** Tells the thread, and ends it where it does not end by itself. */
  async stop(farewell: Down, deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const thread = this.#thread;
    if (thread === null) return;
    this.post(farewell);
    try {
      await withDeadline(this.#stopped, { ms: deadlineMs + 1_000, name: 'end of the link thread' });
    } catch (error) {
      this.#options.log('warn', 'the link thread did not end by itself and is ended', {
        error: String(error),
      });
    }
    await thread.terminate();
    this.#thread = null;
  }

  #spawn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const thread = new Thread(this.#options.file, {
        workerData: this.#options.data,
        name: 'millrace-link',
        resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
      } as ConstructorParameters<typeof Thread>[1]);
      this.#thread = thread;
      thread.on('message', (message: Up) => {
        if (message.type === 'ready') {
          this.#options.onReady();
          resolve();
        } else if (message.type === 'stopped') this.#noteStopped();
        else this.#options.onMessage(message as Exclude<Up, { type: 'ready' | 'stopped' }>);
      });
      thread.on('error', (error) => {
        this.#options.log('error', 'the link thread failed', { error: String(error) });
        reject(error);
      });
      thread.on('exit', (code) => {
        reject(new Error(`the link thread ended with code ${code}`));
        if (this.#thread === thread) this.#thread = null;
        if (this.#isStopping) this.#noteStopped();
        else this.#restart(code);
      });
    });
  }

  #restart(code: number): void {
    this.#restarts += 1;
    const waitMs = Math.min(restartCapMs, 50 * 2 ** this.#restarts) * Math.random();
    this.#options.log('error', 'the link thread ended and is started again', {
      code,
      restarts: this.#restarts,
      waitMs: Math.round(waitMs),
    });
    this.#options.onDeath(`the link thread ended with code ${code}`, waitMs);
    this.#restartTimer = setTimeout(() => this.start(), waitMs);
  }
}
