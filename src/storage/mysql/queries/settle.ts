import { statusCodes } from '../../sql/status-codes.js';
import { flag } from '../codes.js';
import type { Facts } from '../held-facts.js';
import { hexDigits, hexId, hexText, int, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import { deleteSlots } from './slots.js';

/** A completion whose facts are known. */
export interface Completion {
  readonly id: string;
  readonly facts: Facts;
  readonly result: string | null;
  readonly isSkipped: boolean;
}

/** Up to so many tokens get a delete of their own; a statement costs about as much as 20 pairs in a list. */
const mostTokens = 8;

/**
 * The plain settle: leases out, finals in, counters up, in one packet and transaction. When a lease is not there any more,
 * has a stop request or has others waiting for it, the count differs and `exp` fails: the packet stops there, the
 * transaction is rolled back, and the followed path looks row by row.
 */
export function completeStatements(t: Tables, completions: readonly Completion[], now: Sql): Sql[] {
  const slotted = completions.filter(({ facts }) => (facts.flags & flag.slotted) !== 0);
  return [
    ...deletes(t, completions),
    ...(slotted.length > 0
      ? [
          deleteSlots(
            t,
            slotted.map(({ id }) => hexId(id)),
          ),
        ]
      : []),
    sql`set @guard = exp(abs(@settled - ${completions.length}) * 1000), @now = ${now}`,
    insertFinals(t, completions.map(finalRow)),
    countFinals(
      t,
      completions.map(({ facts }) => ({ queueId: facts.queueId, status: statusCodes.completed })),
    ),
  ];
}

/**
 * The index is forced: when a batch ends most of the leases there are, the optimizer would read all of them, and wait for one
 * that a user's transaction has locked.
 */
function deletes(t: Tables, completions: readonly Completion[]): Sql[] {
  const byToken = new Map<string, Completion[]>();
  for (const completion of completions) {
    const own = byToken.get(completion.facts.token);
    if (own === undefined) byToken.set(completion.facts.token, [completion]);
    else own.push(completion);
  }
  if (byToken.size > mostTokens) {
    const pairs = completions.map(({ id, facts }) => sql`(${hexDigits(facts.token, 16)}, ${hexId(id)})`);
    return [
      // Index: primary, one dive per pair.
      sql`delete l from ${t.leases} l force index (primary) where (l.token, l.id) in ${list(pairs)}
        and (l.flags & ${flag.followed}) = 0 and l.stop = 0`,
      sql`set @settled = row_count()`,
    ];
  }
  return [...byToken].flatMap(([token, own], index) => [
    // Index: primary.
    sql`delete l from ${t.leases} l force index (primary) where l.token = ${hexDigits(token, 16)}
      and l.id in ${list(own.map(({ id }) => hexId(id)))} and (l.flags & ${flag.followed}) = 0 and l.stop = 0`,
    sql`set @settled = ${index === 0 ? sql`` : sql`@settled + `}row_count()`,
  ]);
}

function finalRow({ id, facts, result, isSkipped }: Completion): Sql {
  const { retentionMs } = facts;
  return sql`(${hexId(id)}, ${facts.queueId}, ${facts.nameId}, ${statusCodes.completed}, ${facts.flags & ~flag.slotted}, ${int(retentionMs !== null)},
    @now + ${retentionMs ?? 0}, ${facts.due}, ${facts.claimedAt}, @now, ${facts.workerId}, ${hexDigits(facts.token, 16)},
    ${int(isSkipped)}, null, ${hexText(result)})`;
}

/** Columns in the order of `finalRow`. */
export function insertFinals(t: Tables, rows: readonly Sql[]): Sql {
  return sql`insert into ${t.finals} (id, queue_id, name_id, status, flags, retained, purge_at, due, claimed_at,
    finished_at, worker_id, token, outcome, reason, result) values ${rows}`;
}

/** One row per queue and status of a batch: no row that every settle has to lock. */
export function countFinals(
  t: Tables,
  ended: readonly { readonly queueId: number; readonly status: number }[],
): Sql {
  const counts = new Map<string, number>();
  for (const { queueId, status } of ended) {
    const key = `${queueId} ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = [...counts].map(([key, n]) => {
    const [queueId, status] = key.split(' ').map(Number);
    return sql`(${queueId ?? 0}, ${status ?? 0}, ${n})`;
  });
  return sql`insert into ${t.deltas} (queue_id, status, n) values ${rows}`;
}

/** What a plain settle needs of leases that this process doesn't remember. Index: by_id. */
export function readFacts(t: Tables, ids: readonly string[]): Sql {
  return sql`select l.id, l.token, l.queue_id, l.name_id, l.due, l.claimed_at, l.worker_id, l.flags, j.retention
    from ${t.leases} l force index (by_id) straight_join ${t.jobs} j on j.id = l.id where l.id in ${list(ids.map(hexId))}`;
}
