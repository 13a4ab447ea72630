import { MillraceError } from '../internal/errors.js';
import { isUuid } from '../internal/uuid.js';
import type { Storage } from '../storage/storage.js';

const fewestCharacters = 6;

/**
 * The full id of a job that was named by its id or by how that ends.
 *
 * @throws MillraceError `usage-invalid`, `job-not-found`, `id-ambiguous` listing the candidates
 */
export async function resolveJobId(storage: Storage, given: string): Promise<string> {
  const text = checkJobId(given);
  if (isUuid(text)) return text;
  const candidates = await storage.idsEndingIn(text);
  const [id] = candidates;
  if (id === undefined) throw noSuchJob(given);
  if (candidates.length === 1) return id;
  throw new MillraceError(
    'id-ambiguous',
    `job id ${given} fits ${candidates.length} jobs. Give more characters of one of: ${candidates.join(', ')}`,
    { details: { candidates } },
  );
}

/**
 * What was given, as ids are written, if it can be an id or the end of one.
 *
 * @throws MillraceError `usage-invalid`
 */
export function checkJobId(given: string): string {
  const text = given.trim().toLowerCase();
  if (isUuid(text)) return text;
  if (/^[0-9a-f-]+$/.test(text) && text.length >= fewestCharacters && text.length <= 36) return text;
  throw new MillraceError(
    'usage-invalid',
    `job id: expected an id, or its last ${fewestCharacters} or more characters, got ${JSON.stringify(given)}`,
    { details: { got: given } },
  );
}

export function noSuchJob(id: string): MillraceError {
  return new MillraceError(
    'job-not-found',
    `there is no job ${id}. Finished jobs are removed when their retention is over; a shortened id is looked for among live jobs and the newest 10,000`,
    { details: { id } },
  );
}
