/**
 * Hears TERM and INT in a thread, for a process whose main loop may be blocked: what Node offers (`process.on`) runs on the
 * main loop alone, which hears a signal only once it turns again, and so may never be told to stop.
 *
 * Every loop of a process may ask libuv for signals; Node gives the object for it to nobody but itself and, by the
 * deprecated `process.binding`, to who asks. Where it is not to be had any more this hears nothing, and a blocked process
 * ends by `MILLRACE_BLOCKED_TIMEOUT` or by whoever sent the signal.
 */
import { constants } from 'node:os';

export type StopSignal = 'SIGTERM' | 'SIGINT';

interface SignalHandle {
  onsignal: () => void;
  start(signal: number): number;
  unref(): void;
  close(): void;
}

const signals: readonly StopSignal[] = ['SIGTERM', 'SIGINT'];

export class SignalEar implements Disposable {
  readonly #onSignal: (signal: StopSignal) => void;
  readonly #handles: SignalHandle[] = [];

  constructor(onSignal: (signal: StopSignal) => void) {
    this.#onSignal = onSignal;
  }

  /** Whether it hears. */
  start(): boolean {
    const create = handleMaker();
    if (create === null) return false;
    return signals.map((signal) => this.#listen(signal, create())).every((isOn) => isOn);
  }

  [Symbol.dispose](): void {
    for (const handle of this.#handles.splice(0)) handle.close();
  }

  #listen(signal: StopSignal, handle: SignalHandle): boolean {
    this.#handles.push(handle);
    handle.unref();
    handle.onsignal = () => this.#onSignal(signal);
    return handle.start(constants.signals[signal]) === 0;
  }
}

/** Null: this Node does not give it. */
function handleMaker(): (() => SignalHandle) | null {
  const { binding } = process as unknown as {
    binding?: (name: string) => { Signal?: new () => SignalHandle };
  };
  const before = process.noDeprecation;
  try {
    // It is known to be deprecated; this thread alone is quiet about it.
    process.noDeprecation = true;
    const Signal = binding?.call(process, 'signal_wrap').Signal;
    return Signal === undefined ? null : () => new Signal();
  } catch {
    // As said above: then it hears nothing.
    return null;
  } finally {
    if (before === undefined) delete process.noDeprecation;
    else process.noDeprecation = before;
  }
}
