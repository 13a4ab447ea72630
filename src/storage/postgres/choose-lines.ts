import type { ClaimRequest, Take } from '../claimed-job.js';
import type { LineBook } from './line-book.js';
import type { LineSource } from './line-source.js';
import type { LineView, SeenLine } from './line-view.js';

/** A claim reads the jobs of so many lines, or of twice as many as it has places. */
const fewestLines = 32;
/** Jobs that are read of all bounded lines together, roughly. */
const jobsToRead = 2_000;

export interface Wanted {
  readonly request: ClaimRequest;
  /** How many each take has already. */
  readonly had: readonly number[];
  readonly views: readonly LineView[];
  readonly book: LineBook;
}

/** The lines whose jobs a claim is to read. */
export function chooseLines({ request, had, views, book }: Wanted): LineSource[] {
  return request.takes.flatMap((take, index) => {
    const count = had[index] ?? 0;
    const limit = request.alone ? 1 : take.limit;
    const view = views[index];
    if (count >= limit || view === undefined) return [];
    const places = Math.max(0, take.start - count);
    const lines = nextLines([...view.open()].filter(isRunnable(request, book)), {
      take,
      book,
      most: Math.max(fewestLines, 2 * places),
    });
    // One more than there are places shows whether another one waits, past which nothing may go.
    const depth = Math.min(places + 1, Math.max(2, Math.ceil(jobsToRead / Math.max(1, lines.length))));
    const bounded = lines.map(
      ({ queue, line }): LineSource => ({ take: index, queue, line, bound: book.of(line), depth }),
    );
    if (request.alone) return bounded;
    const ordinary = [...new Set(take.queues)].map(
      (queue): LineSource => ({ take: index, queue, line: 0, bound: null, depth: limit - count }),
    );
    return [...ordinary, ...bounded];
  });
}

/** Whether a worker with these labels may take of it; a line that nothing is known of has gone. */
export function isRunnable(
  { labels }: Pick<ClaimRequest, 'labels'>,
  book: LineBook,
): (seen: { readonly line: number }) => boolean {
  return ({ line }) => {
    if (line === 0 || line === -1) return true;
    const bound = book.of(line);
    return bound?.bounds.requires.every((label) => labels.includes(label)) === true;
  };
}

/**
 * Of many lines those that come first, if each had one job: by queue, rank and due time, where the n-th place of a group
 * goes to the key that is the n-th to have its turn.
 */
function nextLines(
  lines: readonly SeenLine[],
  { take, book, most }: { take: Take; book: LineBook; most: number },
): readonly SeenLine[] {
  if (lines.length <= most) return lines;
  const queues = new Map([...new Set(take.queues)].map((queue, index) => [queue, index]));
  const parts = new Map<string, SeenLine[]>();
  for (const seen of lines) {
    const key = `${seen.queue} ${seen.rank} ${book.of(seen.line)?.groupId ?? 'none'}`;
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [seen]);
    else part.push(seen);
  }
  const placed: { readonly seen: SeenLine; readonly due: number }[] = [];
  for (const part of parts.values()) {
    const places = part.map(({ due }) => due).sort((a, b) => a - b);
    const isGroup = book.of(part[0]?.line ?? 0)?.groupId !== null;
    const turns = isGroup
      ? part.toSorted((a, b) => a.served - b.served || byDue(a, b))
      : part.toSorted(byDue);
    for (const [index, seen] of turns.entries()) placed.push({ seen, due: places[index] ?? seen.due });
  }
  placed.sort(
    (a, b) =>
      (queues.get(a.seen.queue) ?? 0) - (queues.get(b.seen.queue) ?? 0) ||
      a.seen.rank - b.seen.rank ||
      a.due - b.due,
  );
  return placed.slice(0, most).map(({ seen }) => seen);
}

const byDue = (a: SeenLine, b: SeenLine): number => a.due - b.due || (a.id < b.id ? -1 : 1);
