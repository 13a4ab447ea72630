/** What was looked at, how it stands, and what to do about it. */
export interface Diagnosis {
  /** What was looked at, in a few words: `long transactions`. */
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  /** What was found, with its numbers. */
  readonly message: string;
  /** What to do; null when there is nothing to do. */
  readonly fix: string | null;
}

export const fine = (check: string, message: string): Diagnosis => ({
  check,
  status: 'ok',
  message,
  fix: null,
});

/** The connections of a server: one that has none left refuses the next worker. */
export function connectionsDiagnosis(used: number, most: number): Diagnosis {
  const message = `${used} of ${most} connections in use`;
  if (used < most * 0.8) return fine('connections', message);
  return {
    check: 'connections',
    status: 'warn',
    message,
    fix: 'Raise the maximum of the server, or run fewer processes: a worker keeps three connections',
  };
}

const longTransactionMs = 60_000;

/** A transaction that stays open keeps the server from cleaning up behind the queue, and the queue becomes slow. */
export function transactionDiagnosis(oldestMs: number | null, who: string): Diagnosis {
  const check = 'long transactions';
  if (oldestMs === null || oldestMs < longTransactionMs)
    return fine(check, 'none is open for longer than a minute');
  return {
    check,
    status: 'warn',
    message: `one is open for ${Math.round(oldestMs / 1000)} s (${who})`,
    fix: 'End it: until then the server cannot clean up what the queue leaves behind',
  };
}

/** @param lax what makes the server answer before the data is safe, in its own words */
export function durabilityDiagnosis(lax: readonly string[]): Diagnosis {
  const check = 'durability';
  if (lax.length === 0) return fine(check, 'what was committed survives a power cut');
  return {
    check,
    status: 'warn',
    message: `${lax.join(' and ')}: the newest dispatches and results can be lost in a crash`,
    fix: 'Set it to its default, unless that was meant',
  };
}
