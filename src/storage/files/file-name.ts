import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';

export const mostNameBytes = 200;

/** Controls, what turns or hides text around it, private use, lone surrogates. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;
/** What some file system, shell or header gives a meaning to. */
const special = /[<>:"|?*\\/]/g;
/** Names that Windows keeps for devices, whatever follows the dot. */
const reserved = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;
/** Longer ones are no kind of file that anybody knows. */
const mostEndingBytes = 20;

/**
 * A name as a file may have it on every system: the last part of what may be a path, without what can't be seen, readable
 * as it was. It may come from a web page or a stranger.
 *
 * @throws MillraceError `file-name-invalid` where nothing is left
 */
export function cleanFileName(name: unknown): string {
  if (typeof name !== 'string') throw invalid(name);
  const last =
    name
      .slice(0, 10_000)
      .split(/[\\/]/)
      .filter((part) => !/^[\s.]*$/.test(part))
      .at(-1) ?? '';
  const seen = last.normalize('NFC').replace(unseen, '').replace(special, '_').replace(/\s+/g, ' ');
  // Blanks and dots at the ends are dropped or hidden by one system or another.
  const trimmed = shortened(seen.replace(/^[ .]+/, '')).replace(/[ .]+$/, '');
  if (trimmed === '') throw invalid(name);
  return reserved.test(trimmed) ? shortened(`_${trimmed}`) : trimmed;
}

/** Cut before its ending, so that it still says what kind of file it is. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= mostNameBytes) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && Buffer.byteLength(name.slice(dot)) <= mostEndingBytes ? name.slice(dot) : '';
  let stem = name.slice(0, name.length - ending.length);
  const room = mostNameBytes - Buffer.byteLength(ending);
  stem = Buffer.from(stem)
    .subarray(0, room)
    .toString()
    .replace(/\uFFFD+$/, '');
  return stem + ending;
}

function invalid(name: unknown): MillraceError {
  return new MillraceError(
    'file-name-invalid',
    `name of a file: expected a text with something that can be seen, such as "report.pdf", got ${describeValue(name)}`,
  );
}
