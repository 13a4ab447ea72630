import { MillraceError } from '../../internal/errors.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import type { MemoryJob, MemoryLogLine, MemoryState } from './state.js';

const maxLines = 1_000;
const maxBytes = 256 * 1024;

export function appendLog(state: MemoryState, lines: readonly NewLogLine[]): void {
  for (const line of lines) {
    const job = state.jobs.get(line.id);
    if (job === undefined || !isOfItsLease(job, line) || isRepeat(job, line) || isFull(job, line)) continue;
    job.log.push({
      token: line.token,
      claimNumber: job.claimNumber,
      seq: line.seq,
      atMs: state.now(),
      kind: line.kind,
      level: line.level,
      text: line.text,
    });
  }
}

export function log(state: MemoryState, id: string, page: { after?: string; limit: number }): LogLine[] {
  const [claimNumber, seq] = page.after === undefined ? [0, 0] : parseCursor(page.after);
  return [...(state.jobs.get(id)?.log ?? [])]
    .sort((a, b) => a.claimNumber - b.claimNumber || a.seq - b.seq)
    .filter((line) => line.claimNumber > claimNumber || (line.claimNumber === claimNumber && line.seq > seq))
    .slice(0, page.limit)
    .map((line) => lineOf(line));
}

/** The present one, or the one that ended the job: a line may come after a settlement inside the handler's transaction. */
function isOfItsLease(job: MemoryJob, { token }: NewLogLine): boolean {
  return (job.lease?.token ?? job.endedBy) === token;
}

/** Of the same lease: a token that is used again for another lease counts its lines anew. */
function isRepeat(job: MemoryJob, line: NewLogLine): boolean {
  return job.log.some((known) => known.claimNumber === job.claimNumber && known.seq === line.seq);
}

function isFull(job: MemoryJob, line: NewLogLine): boolean {
  const bytes = job.log.reduce((sum, known) => sum + Buffer.byteLength(known.text), 0);
  return job.log.length >= maxLines || bytes + Buffer.byteLength(line.text) > maxBytes;
}

function lineOf(line: MemoryLogLine): LogLine {
  const { seq, atMs, kind, level, text } = line;
  return { cursor: `${line.claimNumber}.${seq}`, seq, atMs, kind, level, text };
}

function parseCursor(cursor: string): [number, number] {
  const match = /^(\d+)\.(\d+)$/.exec(cursor);
  if (match === null) {
    throw new MillraceError('cursor-invalid', `cursor: expected the cursor of a log line, got "${cursor}"`);
  }
  return [Number(match[1]), Number(match[2])];
}
