import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ours = fileURLToPath(new URL('./child.mjs', import.meta.url));
const profileFolder = process.env.MILLRACE_BENCH_CPU_PROFILE;

/**
 * One operation in a process of its own. Messages of the child are taken by type; whatever ends badly (an error, an
 * early end, the deadline) rejects what is waited for.
 */
export class Child {
  #process;
  #messages = [];
  #waiting = null;
  #failure = null;
  #exited;
  #timer;
  /** The newest number of completions that it told. */
  progress = 0;

  constructor(spec, deadlineMs, file = ours) {
    const profile = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
    this.#process = fork(file, [JSON.stringify(spec)], {
      execArgv: ['--expose-gc', ...profile],
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    this.#process.on('message', (message) => this.#take(message));
    this.#exited = new Promise((resolve) => {
      this.#process.on('exit', (code, signal) => {
        this.#fail(new Error(`${spec.operation}: its process ended early (${signal ?? `code ${code}`})`));
        resolve();
      });
    });
    this.#timer = setTimeout(() => {
      this.#fail(new Error(`${spec.operation}: no end within ${deadlineMs / 1_000} s`));
      this.#process.kill('SIGKILL');
    }, deadlineMs);
  }

  send(message) {
    if (this.#process.connected) this.#process.send(message);
  }

  async next(type) {
    for (;;) {
      const index = this.#messages.findIndex((message) => message.type === type);
      if (index >= 0) return this.#messages.splice(index, 1)[0];
      if (this.#failure !== null) throw this.#failure;
      await new Promise((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  get failure() {
    return this.#failure;
  }

  /** Waits for its end, and ends it where it takes longer than the time given. */
  async end(ms = 10_000) {
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), ms);
    await this.#exited;
    clearTimeout(timer);
    clearTimeout(this.#timer);
  }

  #take(message) {
    if (message.type === 'progress') this.progress = message.count;
    else if (message.type === 'error') this.#fail(new Error(message.message));
    else this.#messages.push(message);
    this.#wake();
  }

  #fail(error) {
    this.#failure ??= error;
    this.#wake();
  }

  #wake() {
    this.#waiting?.();
    this.#waiting = null;
  }
}

/** Runs one operation to its end and answers what it measured. */
export async function runChild(spec, deadlineMs = 120_000, file = ours) {
  const child = new Child(spec, deadlineMs, file);
  try {
    return (await child.next('result')).result;
  } finally {
    await child.end();
  }
}
