/**
 * The parent's hold on one child of a process lane: a group of its own (see group-process.ts), talked to in frames over a
 * pipe.
 *
 * Its pipes beyond those of every process: 3 messages, 4 the guard's. The last one is never written to: that it ends is how
 * the guard thread in the child learns that its parent is gone (see guard-thread.ts).
 */
import type { Duplex } from 'node:stream';
import { GroupProcess, type ProcessEnd } from '../../../internal/group-process.js';
import { encodeFrame, FrameReader } from './frames.js';
import type { ChildFolder } from './lane-folders.js';
import type { DownMessage } from './messages.js';

export interface ChildOptions {
  readonly file: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Its TMPDIR; null: that of this process. */
  readonly folder: ChildFolder | null;
  readonly onMessage: (message: unknown) => void;
  /** What it writes to stderr, as it comes. */
  readonly onStderr: (chunk: Buffer) => void;
  /** How long it may take to be gone once it was killed. */
  readonly reapMs: number;
}

export class LaneChildProcess {
  #folder: ChildFolder | null = null;
  readonly #process: GroupProcess;
  readonly #pipe: Duplex;

  constructor({ file, execArgv, env, folder, onMessage, onStderr, reapMs }: ChildOptions) {
    this.#process = new GroupProcess({
      file: process.execPath,
      args: [...execArgv, file],
      env: folder === null ? env : { ...env, TMPDIR: folder.path },
      stdout: 'inherit',
      pipes: 2,
      onStderr,
      reapMs,
      explain: (tail) => (tail.includes('heap out of memory') ? 'ran out of heap' : null),
    });
    const [pipe, guard] = this.#process.pipes as [Duplex, Duplex];
    this.#pipe = pipe;
    if (folder !== null) this.useFolder(folder);
    void this.ended.then(() => this.#folder?.childEnded(this.#process.hasExited));
    this.#read(onMessage);
    guard.resume();
  }

  /** Holds the folders of its jobs; null: there is none. */
  get folder(): ChildFolder | null {
    return this.#folder;
  }

  /** Also later than its spawn: it is then that of its jobs alone. */
  useFolder(folder: ChildFolder): void {
    this.#folder = folder;
    if (this.pid !== null) folder.noteUser(this.pid);
    if (this.#process.hasExited) folder.childEnded(true);
  }

  get ended(): Promise<ProcessEnd> {
    return this.#process.ended;
  }

  get pid(): number | null {
    return this.#process.pid;
  }

  /** @throws MillraceError `payload-too-large`. To a child that is going it says nothing. */
  send(message: DownMessage): void {
    const frame = encodeFrame(message);
    if (this.#pipe.writable) this.#pipe.write(frame);
  }

  /** Kills its whole group at once. The first reason is the one that is told. */
  kill(reason: string): void {
    this.#process.kill(reason);
  }

  #read(onMessage: (message: unknown) => void): void {
    const reader = new FrameReader(onMessage);
    let isBroken = false;
    this.#pipe.on('data', (chunk: Buffer) => {
      if (isBroken) return;
      try {
        reader.push(chunk);
      } catch (error) {
        isBroken = true;
        this.kill(`sent what can't be read: ${(error as Error).message}`);
      }
    });
  }
}
