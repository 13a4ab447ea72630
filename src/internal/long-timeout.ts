/** The longest delay a Node timer takes; it fires at once beyond that. */
const longestTimerMs = 2 ** 31 - 1;

/** A timer that can be taken back. */
export interface LongTimeout {
  /** Takes the timer back; without effect once it has fired. */
  cancel(): void;
}

export interface LongTimeoutOptions {
  /** Let the process end while the timer is pending. @default false */
  readonly unref?: boolean | undefined;
}

/**
 * Calls `fn` once after `ms` milliseconds of the monotonic clock, also beyond the 24.8 days where
 * `setTimeout` overflows. Zero, negative and NaN mean as soon as possible; Infinity means never.
 */
export function setLongTimeout(fn: () => void, ms: number, options: LongTimeoutOptions = {}): LongTimeout {
  const dueAt = performance.now() + (Number.isNaN(ms) ? 0 : ms);
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    const restMs = dueAt - performance.now();
    timer = setTimeout(
      restMs > longestTimerMs ? arm : fn,
      Math.min(Math.max(Math.ceil(restMs), 0), longestTimerMs),
    );
    if (options.unref === true) timer.unref();
  };
  arm();
  return { cancel: () => clearTimeout(timer) };
}
