/** How long a browser session may last, and how long it may go unused. */
export interface SessionTimes {
  /** From open to the first command. */
  readonly firstContactMs: number;
  /** From the end of a command to the next one. */
  readonly idleMs: number;
  /** From open, whatever is done with it. */
  readonly ttlMs: number;
}

export interface SessionUse {
  readonly openedAtMs: number;
  /** When the latest command began or ended; null before the first. */
  readonly usedAtMs: number | null;
  /** A command is waiting or running now. */
  readonly isBusy: boolean;
}

export type SessionExpiry = 'no-first-contact' | 'idle' | 'ttl';

export interface SessionDeadline {
  readonly atMs: number;
  readonly reason: SessionExpiry;
}

/**
 * When a session ends by itself, and why. Use moves the idle end only: the total stands, so that a client that never stops
 * cannot keep a lane from everybody else. A long command is use, and viewers are not.
 */
export function sessionDeadline(use: SessionUse, times: SessionTimes): SessionDeadline {
  const total: SessionDeadline = { atMs: use.openedAtMs + times.ttlMs, reason: 'ttl' };
  if (use.isBusy) return total;
  const unused: SessionDeadline =
    use.usedAtMs === null
      ? { atMs: use.openedAtMs + times.firstContactMs, reason: 'no-first-contact' }
      : { atMs: use.usedAtMs + times.idleMs, reason: 'idle' };
  return unused.atMs < total.atMs ? unused : total;
}
