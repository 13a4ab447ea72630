import type { ErrorCode } from '../internal/error-codes.js';
import { isMillraceError } from '../internal/errors.js';

/** What every command ends with. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** A worker that cannot be configured here (EX_CONFIG's neighbour EX_USAGE of sysexits). */
  badConfiguration: 64,
  /** A worker that met an error of its own or of its code (EX_SOFTWARE). */
  internal: 70,
  /** A worker that could not get on, and may at another start (EX_TEMPFAIL). */
  noProgress: 75,
} as const;

/** What was typed is at fault, not what it met. */
const usageCodes: ReadonlySet<ErrorCode> = new Set([
  'usage-invalid',
  'option-unknown',
  'option-invalid',
  'settings-invalid',
  'config-invalid',
  'payload-invalid',
  'payload-too-large',
  'json-invalid',
  'queue-name-invalid',
  'job-name-invalid',
  'job-name-unknown',
  'job-name-duplicate',
  'cursor-invalid',
  'database-url-invalid',
  'id-ambiguous',
]);

export function exitCodeOf(error: unknown): number {
  return isMillraceError(error) && usageCodes.has(error.code) ? exitCodes.usage : exitCodes.failed;
}

/** Of what starting again won't cure, beside what was typed. */
const configurationCodes: ReadonlySet<ErrorCode> = new Set([
  'driver-missing',
  'database-too-old',
  'schema-too-new',
]);

/** The same for a worker: supervisors take 64 as "starting again won't help". */
export function workerExitCodeOf(error: unknown): number {
  if (!isMillraceError(error)) return exitCodes.internal;
  const isConfiguration = usageCodes.has(error.code) || configurationCodes.has(error.code);
  return isConfiguration ? exitCodes.badConfiguration : exitCodes.noProgress;
}
