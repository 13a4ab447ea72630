/**
 * What a thread can do to a main loop that is blocked in JavaScript: see where it stands, and end the process with an exit
 * code. Both go through V8's inspector, which interrupts running code; a loop that is blocked outside of it (a
 * synchronous read, a query of an embedded database) is not interrupted, and then both say so within their deadline.
 */
import { Session } from 'node:inspector';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface Frame {
  /** Empty for code at the top of a file. */
  readonly name: string;
  /** A path, or an address that is none. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

const mostFrames = 8;

interface PausedEvent {
  readonly params: {
    readonly callFrames: readonly {
      readonly functionName: string;
      readonly location: { readonly scriptId: string; readonly lineNumber: number };
    }[];
  };
}

interface ScriptEvent {
  readonly params: { readonly scriptId: string; readonly url: string };
}

/** Where main stands right now, the innermost frame first; null when it did not answer in time. Main goes on at once. */
export async function readMainStack(deadlineMs: number): Promise<readonly Frame[] | null> {
  const session = new Session();
  const over = new AbortController();
  try {
    session.connectToMainThread();
    const files = new Map<string, string>();
    session.on('Debugger.scriptParsed', ({ params }: ScriptEvent) => files.set(params.scriptId, params.url));
    const paused = new Promise<readonly Frame[]>((resolve) => {
      session.once('Debugger.paused', (event: PausedEvent) => {
        session.post('Debugger.resume');
        session.post('Debugger.disable');
        const frames = event.params.callFrames.slice(0, mostFrames);
        resolve(frames.map(({ functionName, location }) => frameOf(functionName, location, files)));
      });
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
    return await Promise.race([paused, delay(deadlineMs, null, { signal: over.signal })]);
  } finally {
    over.abort();
    // Also what was asked and not answered yet is called off: main must not stop for nobody later.
    session.disconnect();
  }
}

/** Ends the process by `process.exit` on main. Returns where that did not happen in time. */
export async function exitThroughMain(code: number, deadlineMs: number): Promise<void> {
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: `process.exit(${code})` });
  await delay(deadlineMs);
  session.disconnect();
}

function frameOf(
  name: string,
  location: { readonly scriptId: string; readonly lineNumber: number },
  files: ReadonlyMap<string, string>,
): Frame {
  const url = files.get(location.scriptId) ?? '';
  return {
    name,
    file: url.startsWith('file:') ? fileURLToPath(url) : url,
    line: location.lineNumber + 1,
  };
}

/** As in `resize (/app/thumbnail.js:12)`. */
export function frameText({ name, file, line }: Frame): string {
  return `${name === '' ? '(top of the file)' : name} (${file}:${line})`;
}
