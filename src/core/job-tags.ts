import { expectedGot, MillraceError } from '../internal/errors.js';
import { isJobName, jobNameRule } from '../internal/name-rule.js';

export const mostTags = 10;

/** A usable tag: what a job name may be. @throws MillraceError `option-invalid` */
export function parseTag(value: unknown, what = 'tag'): string {
  if (isJobName(value)) return value;
  throw new MillraceError('option-invalid', expectedGot({ what, expected: jobNameRule, got: value }), {
    details: { got: value },
  });
}

/**
 * Tags as a job carries them: sorted, each once, at most 10.
 *
 * @throws MillraceError `option-invalid`
 */
export function parseTags(value: unknown, what = 'tags'): readonly string[] {
  if (!Array.isArray(value)) {
    throw new MillraceError('option-invalid', expectedGot({ what, expected: 'a list of tags', got: value }));
  }
  const tags = [...new Set(value.map((tag: unknown) => parseTag(tag, what)))].sort();
  if (tags.length <= mostTags) return Object.freeze(tags);
  throw new MillraceError('option-invalid', `${what}: expected at most ${mostTags}, got ${tags.length}`);
}
