import type { ClaimRequest, Take } from '../claimed-job.js';
import type { LineBook } from './line-book.js';
import type { LineSource } from './line-source.js';
import type { LineView, SeenLine } from './line-view.js';

/** A claim reads the jobs of so many lines, or of a few more than it has places. */
const fewestLines = 32;
const linesPerPlace = 1.2;
/** Jobs that are read of all bounded lines together, roughly: where one line has most of them, another round follows. */
const fewestJobs = 200;
const jobsPerPlace = 3;

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
      most: Math.max(fewestLines, Math.ceil(linesPerPlace * places)),
    });
    // One more than there are places shows whether another one waits, past which nothing may go.
    const toRead = Math.max(fewestJobs, jobsPerPlace * places);
    const depth = Math.min(places + 1, Math.max(2, Math.ceil(toRead / Math.max(1, lines.length))));
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
  const [first] = lines;
  if (first === undefined || lines.length <= most) return lines;
  const groupOf = ({ line }: SeenLine): number | null => book.of(line)?.groupId ?? null;
  const group = groupOf(first);
  const isOnePart = lines.every(
    (seen) => seen.queue === first.queue && seen.rank === first.rank && groupOf(seen) === group,
  );
  if (isOnePart) return lines.toSorted(group === null ? byDue : byTurn).slice(0, most);
  const queues = new Map([...new Set(take.queues)].map((queue, index) => [queue, index]));
  const parts = new Map<string, SeenLine[]>();
  for (const seen of lines) {
    const key = `${seen.queue} ${seen.rank} ${groupOf(seen)}`;
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [seen]);
    else part.push(seen);
  }
  const placed: { readonly seen: SeenLine; readonly queue: number; readonly due: number }[] = [];
  for (const part of parts.values()) {
    const dues = part.map(({ due }) => due).sort((a, b) => a - b);
    const isGroup = groupOf(part[0] as SeenLine) !== null;
    for (const [index, seen] of part.sort(isGroup ? byTurn : byDue).entries())
      placed.push({ seen, queue: queues.get(seen.queue) ?? 0, due: dues[index] ?? seen.due });
  }
  placed.sort((a, b) => a.queue - b.queue || a.seen.rank - b.seen.rank || a.due - b.due);
  return placed.slice(0, most).map(({ seen }) => seen);
}

const byDue = (a: SeenLine, b: SeenLine): number => a.due - b.due || (a.id < b.id ? -1 : 1);
const byTurn = (a: SeenLine, b: SeenLine): number => a.served - b.served || byDue(a, b);
