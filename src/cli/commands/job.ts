import type { JobFailure } from '../../client/job-failure.js';
import type { StoredFile } from '../../client/job-files.js';
import type { Job, JobLogLine } from '../../client/job-view.js';
import type { JobProgress } from '../../client/progress-watcher.js';
import { printable, printableBlock, printableJson } from '../../internal/printable.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { paintOfStatus } from '../output/job-status-paint.js';
import { relativeTime } from '../output/relative-time.js';
import type { Terminal } from '../output/terminal.js';
import { checkJobId, noSuchJob, resolveJobId } from '../resolve-job-id.js';
import { openSession } from '../session.js';
import { fileLine } from './files.js';

const longestText = 4000;
const logPage = 1000;

export const job: CommandSpec = {
  name: 'job <id>',
  summary: 'show a job with its failures and its log',
  details:
    'The id, or its last 6 or more characters, which are looked for among live jobs and the newest 10,000.',
  examples: ['millrace job 7f3a9c21b0de', 'millrace job 0199c0de-7a11-7abc-9def-7f3a9c21b0de --json'],
  async run(context, [given = '']) {
    checkJobId(given);
    await using session = await openSession(context);
    const id = await resolveJobId(session.storage, given);
    const found = await session.client.job(id);
    if (found === null) throw noSuchJob(id);
    const log = await session.client.log(id, { limit: logPage });
    const files = await session.client.files(id);
    const nowMs = await session.storage.now();
    context.terminal.answer({ ...found, files, log: log.map(logDocument) }, () =>
      print(context.terminal, { job: found, files, log, nowMs }),
    );
    return exitCodes.ok;
  },
};

function logDocument({ at, kind, level, text }: JobLogLine) {
  return { at, kind, level, text };
}

interface Shown {
  readonly job: Job;
  readonly files: readonly StoredFile[];
  readonly log: readonly JobLogLine[];
  readonly nowMs: number;
}

function print(terminal: Terminal, { job: found, files, log, nowMs }: Shown): void {
  const { style } = terminal;
  const status = paintOfStatus(found.status, style)?.(found.status) ?? found.status;
  terminal.line(`${style.bold(found.id)}  ${printable(found.name)}  ${status}`);
  for (const [title, text] of facts(found, nowMs)) terminal.line(`  ${style.dim(title.padEnd(10))} ${text}`);
  block(terminal, 'input', found.input);
  if (found.result !== undefined) block(terminal, 'result', found.result);
  for (const failure of found.failures) printFailure(terminal, failure, nowMs);
  if (files.length > 0) terminal.line(`  ${style.dim('files')}`);
  for (const file of files) terminal.line(`    ${fileLine(file)}`);
  if (log.length === 0) return;
  terminal.line(`  ${style.dim('log')}`);
  for (const line of log) printLogLine(terminal, line);
}

function facts(found: Job, nowMs: number): [string, string][] {
  const when = (at: Date | null): string =>
    at === null ? '' : `${at.toISOString()} (${relativeTime(at.getTime(), nowMs)})`;
  const deaths =
    found.deaths === 0 ? '' : `, ${found.deaths} ${found.deaths === 1 ? 'death' : 'deaths'} of its worker`;
  const all: [string, string][] = [
    ['queue', printable(found.queue)],
    ['priority', String(found.priority)],
    ['tags', printable(found.tags.join(', '))],
    ['failed', `${found.attempts} of ${found.maxAttempts} attempts${deaths}`],
    ['created', when(found.createdAt)],
    ['due', when(found.dueAt)],
    [
      'taken',
      found.claimedAt === null ? '' : `${when(found.claimedAt)} by ${printable(found.workerId ?? 'unknown')}`,
    ],
    ['progress', progressFact(found.progress)],
    ['ended', when(found.finishedAt)],
    ['lease', found.leaseUntil === null ? '' : `until ${when(found.leaseUntil)}`],
    ['reason', printable(found.reason ?? '')],
    ['asked for', found.stopRequest ?? ''],
    ['outcome', found.outcome ?? ''],
    ['alone', found.alone ? 'runs with nothing beside it, since the workers that ran it died' : ''],
    ['unique key', printable(found.uniqueKey ?? '')],
    ['limit', limitFact(found.limit)],
    ['cost', found.cost === 1 ? '' : String(found.cost)],
    ['requires', printable(found.requires.join(', '))],
    ['waits for', found.waitsFor.join(', ')],
    ['waited for', found.failedParents.map(({ id, status }) => `${id} (${status})`).join(', ')],
  ];
  return all.filter(([, text]) => text !== '');
}

function limitFact(limit: Job['limit']): string {
  if (limit === null) return '';
  const { group, key, max } = limit;
  const whose = key === null ? '' : `, key ${key}`;
  return printable(`group ${group}${whose}${max === null ? '' : `, at most ${max} at once`}`);
}

function block(terminal: Terminal, title: string, value: unknown): void {
  const text = printableJson(JSON.stringify(value, null, 2) ?? 'null');
  const shown =
    text.length > longestText
      ? `${text.slice(0, longestText)}… (${text.length} characters; --json has all)`
      : text;
  terminal.line(`  ${terminal.style.dim(title.padEnd(10))} ${shown.replaceAll('\n', `\n${' '.repeat(13)}`)}`);
}

function printFailure(terminal: Terminal, failure: JobFailure, nowMs: number): void {
  const { style } = terminal;
  const { kind, attempt, at, error } = failure;
  const head = `attempt ${attempt} ${kind} ${relativeTime(at.getTime(), nowMs)}`;
  terminal.line(`  ${style.bad(head)}: ${printable(`${error.name}: ${error.message}`)}`);
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  for (const line of stack.slice(0, 5)) terminal.line(`    ${style.dim(printable(line.trim()))}`);
}

function printLogLine(terminal: Terminal, { at, kind, level, text }: JobLogLine): void {
  const { style } = terminal;
  const time = style.dim(at.toISOString());
  const paint = { debug: style.dim, info: (word: string) => word, warn: style.warning, error: style.bad }[
    level
  ];
  const words = kind === 'progress' ? progressText(text) : printableBlock(text).replaceAll('\n', '\n      ');
  terminal.line(`    ${time} ${paint((kind === 'progress' ? '' : level).padEnd(5))} ${words}`);
}

/** As `3/10 (30 %) resizing`. */
function progressFact(progress: Pick<JobProgress, 'done' | 'total' | 'note'> | null): string {
  if (progress === null) return '';
  const { done, total, note } = progress;
  const share = total === undefined || total === 0 ? '' : `/${total} (${Math.floor((done / total) * 100)} %)`;
  return printable(`${done}${share}${note === undefined ? '' : ` ${note}`}`);
}

/** Of a line of the log: `{"done":3,"total":10,"note":"…"}`. */
function progressText(text: string): string {
  try {
    return progressFact(JSON.parse(text) as JobProgress);
  } catch {
    // Written by another version: shown as it is.
    return printable(text);
  }
}
