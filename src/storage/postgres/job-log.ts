import { MillraceError } from '../../internal/errors.js';
import { isUuid } from '../../internal/uuid.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import type { Context } from './context.js';
import { type LogQueries, logQueries } from './queries/log.js';
import { intOf, textOf } from './statement.js';

const maxLines = 1_000;
const maxBytes = 256 * 1024;

export class JobLog {
  readonly #context: Context;
  readonly #queries: LogQueries;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = logQueries(context.schema);
  }

  async append(lines: readonly NewLogLine[]): Promise<void> {
    if (lines.length === 0) return;
    await this.#context.connection.run(this.#queries.append, [
      uuidArray(lines.map((line) => line.id)),
      uuidArray(lines.map((line) => line.token)),
      plainArray(lines.map((line) => line.seq)),
      textArray(lines.map((line) => line.kind)),
      textArray(lines.map((line) => line.level)),
      textArray(lines.map((line) => line.text)),
      this.#context.offsetMs(),
      maxLines,
      maxBytes,
    ]);
  }

  async page(id: string, page: { after?: string; limit: number }): Promise<LogLine[]> {
    const [lease, seq] = page.after === undefined ? [0, 0] : parseCursor(page.after);
    if (!isUuid(id)) return [];
    const rows = await this.#context.connection.run(this.#queries.page, [id, lease, seq, page.limit]);
    return rows.map(([leaseNumber, number, at, kind, level, text]) => ({
      cursor: `${leaseNumber}.${number}`,
      seq: intOf(number),
      atMs: intOf(at),
      kind: textOf(kind) as LogLine['kind'],
      level: textOf(level) as LogLine['level'],
      text: textOf(text),
    }));
  }
}

function parseCursor(cursor: string): [number, number] {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor);
  if (match === null) {
    throw new MillraceError('cursor-invalid', `cursor: expected the cursor of a log line, got "${cursor}"`, {
      details: { got: cursor },
    });
  }
  return [Number(match[1]), Number(match[2])];
}
