import type { JobListing } from '../../client/job-view.js';
import { jobStatuses } from '../../core/job-status.js';
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
  readonly limit?: string;
  readonly cursor?: string;
}

const defaultLimit = 20;
const mostJobs = 1000;

/** The last group of the id: enough to name the job by. */
export function shortId(id: string): string {
  return id.slice(-12);
}

function columnsAt(nowMs: number): readonly Column<JobListing>[] {
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
  examples: ['millrace jobs --status buried', 'millrace jobs --queue media --limit 100 --json'],
  addOptions(command) {
    command
      .option('--queue <name>', 'only those of this queue')
      .option('--status <status>', `one of ${jobStatuses.join(', ')}`)
      .option('--name <name>', 'only jobs of this name')
      .option('--limit <n>', `how many, 1 to 1000 (default: ${defaultLimit})`)
      .option('--cursor <text>', 'where the page before ended');
  },
  async run(context, _args, { queue, status, name, limit, cursor }) {
    const values = new FlagValues('jobs');
    const options = {
      queue: values.queue(queue),
      name: values.name(name),
      cursor,
      status: values.choice('--status', status, jobStatuses),
      limit: values.count('--limit', limit, mostJobs) ?? defaultLimit,
    };
    values.throwIfAny();
    await using session = await openSession(context);
    const page = await session.client.jobs(options);
    const nowMs = await session.storage.now();
    const { terminal } = context;
    terminal.answer(page, () => {
      if (page.jobs.length === 0) terminal.line('no job fits');
      else terminal.table(page.jobs, columnsAt(nowMs));
      if (page.next !== null) terminal.line(`\nmore: add --cursor ${page.next}`);
    });
    return exitCodes.ok;
  },
};
