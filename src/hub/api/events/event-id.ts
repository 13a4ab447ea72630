/*
 * The place of a reader in the events of a job: how far in its log, and which status it was told last. Both travel in
 * each event's `id`, so that who comes back with the last one misses nothing and is told nothing twice.
 */
import { MillraceError } from '../../../internal/errors.js';

export interface EventPlace {
  /** Cursor of the last line that was told; undefined before the first. */
  readonly line: string | undefined;
  /** Of the status that was told last; undefined before the first. */
  readonly mark: string | undefined;
}

export const beginning: EventPlace = Object.freeze({ line: undefined, mark: undefined });

const pattern = /^([\w.-]{0,200})~([\w.-]{0,100})$/;

export function formatEventId({ line = '', mark = '' }: EventPlace): string {
  return `${line}~${mark}`;
}

/** @throws MillraceError `cursor-invalid` */
export function parseEventId(text: string | undefined): EventPlace {
  if (text === undefined || text === '') return beginning;
  const [, line = '', mark = ''] = pattern.exec(text) ?? refuse();
  return { line: line === '' ? undefined : line, mark: mark === '' ? undefined : mark };
}

function refuse(): never {
  throw new MillraceError(
    'cursor-invalid',
    'Last-Event-ID: expected the id of an event of this job, or none to begin at the first',
  );
}
