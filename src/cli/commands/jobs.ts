import type { JobsOptions, JobsPage } from '../../client/inspect.js';
import type { JobListing } from '../../client/job-view.js';
import type { Millrace } from '../../client/millrace.js';
import { jobStatuses } from '../../core/job-status.js';
import { parseTag } from '../../core/job-tags.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { FlagValues } from '../flag-values.js';
import { paintOfStatus } from '../output/job-status-paint.js';
import { relativeTime } from '../output/relative-time.js';
import type { Column } from '../output/table.js';
import { openSession } from '../session.js';

interface Flags {
  readonly queue?: string;
  readonly status?: string;
  readonly name?: string;
  readonly tag?: string;
  readonly error?: string;
  readonly worker?: string;
  readonly olderThan?: string;
  readonly youngerThan?: string;
  readonly endedBefore?: string;
  readonly endedAfter?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

const defaultLimit = 20;
const mostJobs = 1000;
/** Of 5,000 jobs each that were looked at. */
const mostPages = 20;

/** The last group of the id: enough to name the job by. */
export function shortId(id: string): string {
  return id.slice(-12);
}

export function columnsAt(nowMs: number): readonly Column<JobListing>[] {
  return [
    { title: 'ID', value: ({ id }) => shortId(id) },
    { title: 'NAME', value: ({ name }) => name, shrinkTo: 12 },
    { title: 'QUEUE', expendable: 2, value: ({ queue }) => queue, shrinkTo: 8 },
    {
      title: 'STATUS',
      value: ({ status }) => status,
      paint: ({ status }, style) => paintOfStatus(status, style),
    },
    {
      title: 'FAILED',
      expendable: 3,
      value: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`,
      align: 'right',
    },
    {
      title: 'PRIO',
      expendable: 4,
      value: ({ priority }) => (priority === 0 ? null : priority),
      align: 'right',
      isOptional: true,
    },
    { title: 'WHEN', expendable: 1, value: (job) => whenOf(job, nowMs) },
  ];
}

/** The moment that matters for its status. */
function whenOf({ status, createdAt, dueAt, claimedAt, finishedAt }: JobListing, nowMs: number): string {
  if (finishedAt !== null) return `ended ${relativeTime(finishedAt.getTime(), nowMs)}`;
  if (status === 'processing' && claimedAt !== null)
    return `taken ${relativeTime(claimedAt.getTime(), nowMs)}`;
  if (status === 'blocked') return `sent ${relativeTime(createdAt.getTime(), nowMs)}`;
  return `due ${relativeTime(dueAt.getTime(), nowMs)}`;
}

export const jobs: CommandSpec<Flags> = {
  name: 'jobs',
  summary: 'list jobs',
  details:
    'Order: processing, pending, blocked, buried, cancelled, completed; pending ones as they will be taken, the others newest first.\n' +
    'ID is the end of the id, and enough to name the job by; --json has it in full.',
  examples: [
    'millrace jobs --status buried --error timeout',
    'millrace jobs --tag import-7 --ended-after 1h',
    'millrace jobs --queue media --limit 100 --json',
  ],
  addOptions(command) {
    command
      .option('--queue <name>', 'only those of this queue')
      .option('--status <status>', `one of ${jobStatuses.join(', ')}`)
      .option('--name <name>', 'only jobs of this name')
      .option('--tag <tag>', 'only those with this tag, newest first')
      .option('--error <text>', 'only those with this text in the message of their last failure')
      .option('--worker <id>', 'only those that this worker holds, or held last')
      .option('--older-than <when>', 'created before: how long ago, or a time')
      .option('--younger-than <when>', 'created after')
      .option('--ended-before <when>', 'ended before')
      .option('--ended-after <when>', 'ended after')
      .option('--limit <n>', `how many, 1 to 1000 (default: ${defaultLimit})`)
      .option('--cursor <text>', 'where the page before ended');
  },
  async run(context, _args, flags) {
    const options = optionsOf(flags);
    await using session = await openSession(context);
    const page = await fullPage(session.client, options);
    const nowMs = await session.storage.now();
    const { terminal } = context;
    terminal.answer(page, () => {
      if (page.jobs.length === 0) terminal.line(page.next === null ? 'no job fits' : 'no job fits so far');
      else terminal.table(page.jobs, columnsAt(nowMs));
      if (page.next !== null) terminal.line(`\nmore: add --cursor ${page.next}`);
    });
    return exitCodes.ok;
  },
};

/** @throws MillraceError with everything that is wrong with the flags */
function optionsOf(flags: Flags): JobsOptions & { readonly limit: number } {
  const values = new FlagValues('jobs');
  const options = {
    queue: values.queue(flags.queue),
    name: values.name(flags.name),
    status: values.choice('--status', flags.status, jobStatuses),
    tag: values.take(flags.tag, (tag) => parseTag(tag, '--tag')),
    errorText: flags.error,
    worker: flags.worker,
    createdBefore: values.moment('--older-than', flags.olderThan),
    createdAfter: values.moment('--younger-than', flags.youngerThan),
    finishedBefore: values.moment('--ended-before', flags.endedBefore),
    finishedAfter: values.moment('--ended-after', flags.endedAfter),
    cursor: flags.cursor,
    limit: values.count('--limit', flags.limit, mostJobs) ?? defaultLimit,
  };
  values.throwIfAny();
  return options;
}

/** Goes on where a page ended short, since it looks at a bounded number of jobs; not for ever. */
async function fullPage(
  client: Millrace,
  options: JobsOptions & { readonly limit: number },
): Promise<JobsPage> {
  const jobs: JobListing[] = [];
  let page = await client.jobs(options);
  jobs.push(...page.jobs);
  for (let pages = 1; pages < mostPages && page.next !== null && jobs.length < options.limit; pages += 1) {
    page = await client.jobs({ ...options, limit: options.limit - jobs.length, cursor: page.next });
    jobs.push(...page.jobs);
  }
  return { jobs, next: page.next };
}
