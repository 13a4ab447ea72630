import type { ByteRange } from '../../storage/files/file-store.js';

/**
 * The one range of a `Range` header within so many bytes, as RFC 9110 has it. Null: all of it is sent (none was asked for,
 * several were, or it can't be read); `unsatisfiable`: there is no such part.
 */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes : Math.min(Number(last) + 1, sizeBytes) };
}

/** Whether the tag stands in an `If-None-Match`; a weak one is as good there. */
export function hasTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header
    .split(',')
    .some((each) => /^(?:W\/)?(.*)$/.exec(each.trim())?.[1] === tag || each.trim() === '*');
}
