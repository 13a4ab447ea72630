import type { LimitState } from '../job-limit.js';
import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { liveKindIds } from './line.js';
import { type Gate, type Line, ownLine } from './line-book.js';
import { nextLiveQueue } from './queries/inspect.js';
import * as sql from './queries/limits.js';
import { type RunningTuple, running } from './queries/metered.js';

const mostStates = 1_000;
const mostWaiting = 1_000;
/** Lines that are looked at; those of further ones are left out. */
const mostLines = 4_000;

type Sum = { -readonly [Field in keyof LimitState]: LimitState[Field] };

/** What runs and waits behind each gate. */
export function limits(db: Connection): LimitState[] {
  const sums = new Map<number, Sum>();
  const rows = db.tuples<RunningTuple>(running);
  db.lines.load(rows.map(([, line]) => ownLine(line)));
  for (const [, number, , count] of rows) {
    const line = db.lines.byId(ownLine(number));
    const sum = sumOf(sums, line);
    if (sum === undefined) continue;
    sum.running += count;
    sum.runningCost += count * line.cost;
  }
  for (const { kind, number } of waitingLines(db)) {
    const sum = sumOf(sums, db.lines.byId(ownLine(number)));
    if (sum === undefined || sum.waiting === mostWaiting) continue;
    const left = mostWaiting - sum.waiting;
    sum.waiting += db.value<number>(sql.countWaiting, kind.queueId, kind.id, number, left) ?? 0;
  }
  return [...sums.values()].sort(byGroupAndKey).slice(0, mostStates);
}

function sumOf(sums: Map<number, Sum>, line: Line): Sum | undefined {
  const { gate, limit } = line;
  if (gate === null) return undefined;
  const sum = sums.get(gate.id) ?? emptySum(gate);
  sums.set(gate.id, sum);
  const max = limit?.max ?? null;
  if (max !== null) sum.max = Math.min(sum.max ?? max, max);
  return sum;
}

const emptySum = ({ group, key }: Gate): Sum => ({
  group,
  key,
  max: null,
  running: 0,
  runningCost: 0,
  waiting: 0,
});

function* waitingLines(db: Connection): Generator<{ kind: Kind; number: number }> {
  let left = mostLines;
  for (const kind of linedKinds(db)) {
    let number = db.value<number>(sql.nextLine, kind.queueId, kind.id, Number.MIN_SAFE_INTEGER);
    for (; number !== undefined && left > 0; left -= 1) {
      yield { kind, number };
      number = db.value<number>(sql.nextLine, kind.queueId, kind.id, number);
    }
  }
}

function* linedKinds(db: Connection): Generator<Kind> {
  let queue = db.value<number>(nextLiveQueue, 0);
  while (queue !== undefined) {
    for (const id of liveKindIds(db, queue)) {
      const kind = db.kinds.byId(id);
      if (kind.requires !== null) yield kind;
    }
    queue = db.value<number>(nextLiveQueue, queue);
  }
}

/** In the order of their bytes, as the other engines have it; no key before any. */
function byGroupAndKey(a: Sum, b: Sum): number {
  return compare(a.group, b.group) || compare(a.key ?? '', b.key ?? '');
}

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
