import { MillraceError } from '../../internal/errors.js';
import { bytesToUuid } from '../../internal/uuid.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import { chunksBySize } from './chunks.js';
import type { Context } from './context.js';
import {
  insertLines,
  keptLines,
  type LogPosition,
  type LogRow,
  linesAfter,
  logKinds,
  logLevels,
  logSizes,
  presentLeases,
} from './queries/log.js';
import { hexId } from './sql.js';

const mostLines = 1_000;
const mostBytes = 256 * 1024;

/** Best effort, so without a transaction: a lease that ends meanwhile leaves a line too many, nothing worse. */
export async function appendLog(context: Context, lines: readonly NewLogLine[]): Promise<void> {
  for (const chunk of chunksBySize(context, lines, ({ text }) => Buffer.byteLength(text) * 2)) {
    await appendChunk(context, chunk);
  }
}

async function appendChunk(context: Context, lines: readonly NewLogLine[]): Promise<void> {
  const { t, side } = context;
  const ids = [...new Set(lines.map(({ id }) => id.toLowerCase()))].map(hexId);
  const [leases] = await side.send('reading leases', presentLeases(t, ids, context.now()));
  const [sizes] = await side.send('measuring logs', logSizes(t, ids));
  const [kept] = await side.send('reading logs', keptLines(t, ids));
  const leaseOf = new Map(
    (leases?.rows ?? []).map(([id, token, claimedAt, now]) => [
      bytesToUuid(id as Buffer),
      { token: (token as Buffer).toString('hex'), claimedAt: claimedAt as number, at: Number(now) },
    ]),
  );
  const room = new Room(sizes?.rows ?? [], kept?.rows ?? []);
  const rows = lines.flatMap((line): LogRow[] => {
    const lease = leaseOf.get(line.id.toLowerCase());
    if (lease?.token !== line.token.toLowerCase() || !room.take(line)) return [];
    return [{ line, claimedAt: lease.claimedAt, at: lease.at }];
  });
  if (rows.length > 0) await side.send('writing logs', insertLines(t, rows));
}

/** What each job may still write, and what it has written already. */
class Room {
  readonly #used = new Map<string, { lines: number; bytes: number }>();
  readonly #kept: Set<string>;

  constructor(sizes: readonly (readonly unknown[])[], kept: readonly (readonly unknown[])[]) {
    for (const [id, lines, bytes] of sizes) {
      this.#used.set(bytesToUuid(id as Buffer), { lines: Number(lines), bytes: Number(bytes) });
    }
    this.#kept = new Set(
      kept.map(
        ([id, token, seq]) =>
          `${bytesToUuid(id as Buffer)} ${(token as Buffer).toString('hex')} ${Number(seq)}`,
      ),
    );
  }

  take({ id, token, seq, text }: NewLogLine): boolean {
    const key = `${id.toLowerCase()} ${token.toLowerCase()} ${seq}`;
    const used = this.#used.get(id.toLowerCase()) ?? { lines: 0, bytes: 0 };
    const bytes = Buffer.byteLength(text);
    if (this.#kept.has(key) || used.lines >= mostLines || used.bytes + bytes > mostBytes) return false;
    this.#kept.add(key);
    this.#used.set(id.toLowerCase(), { lines: used.lines + 1, bytes: used.bytes + bytes });
    return true;
  }
}

export async function log(
  context: Context,
  id: string,
  page: { after?: string; limit: number },
): Promise<LogLine[]> {
  const after = page.after === undefined ? null : parseCursor(page.after);
  const [result] = await context.side.send(
    'reading a log',
    linesAfter(context.t, hexId(id), after, page.limit),
  );
  return (result?.rows ?? []).map(([claimedAt, token, seq, at, kind, level, text]) => ({
    cursor: `${claimedAt as number}.${(token as Buffer).toString('hex')}.${seq as number}`,
    seq: seq as number,
    atMs: at as number,
    kind: logKinds[kind as number] ?? 'log',
    level: logLevels[level as number] ?? 'info',
    text: text as string,
  }));
}

function parseCursor(cursor: string): LogPosition {
  const match = /^(\d{1,15})\.([0-9a-f]{32})\.(\d{1,10})$/.exec(cursor);
  if (match === null) {
    throw new MillraceError(
      'cursor-invalid',
      `cursor: expected the cursor of a log line, got ${JSON.stringify(cursor)}`,
    );
  }
  return { claimedAt: Number(match[1]), token: match[2] ?? '', seq: Number(match[3]) };
}
