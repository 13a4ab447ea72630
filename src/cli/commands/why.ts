import type { Why, WhyReason } from '../../client/why.js';
import { MillraceError } from '../../internal/errors.js';
import { printable } from '../../internal/printable.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { paintOfStatus } from '../output/job-status-paint.js';
import { relativeTime } from '../output/relative-time.js';
import type { Terminal } from '../output/terminal.js';
import { checkJobId, noSuchJob, resolveJobId } from '../resolve-job-id.js';
import { openSession } from '../session.js';

export const why: CommandSpec = {
  name: 'why <id>',
  summary: 'say why a job is not running, or a worker gets no work',
  details:
    'Every reason with its numbers, the one to look at first at the top, and when it can change by itself.\n' +
    'A job is named by its id, or by the last 6 or more characters of it; a worker as worker:<id>.',
  examples: [
    'millrace why 7f3a9c21b0de',
    'millrace why worker:w-7f3a91c0-1',
    'millrace why 7f3a9c21b0de --json',
  ],
  async run(context, [given = '']) {
    if (given.startsWith(workerPrefix)) return await whyWorker(context, given.slice(workerPrefix.length));
    checkJobId(given);
    await using session = await openSession(context);
    const id = await resolveJobId(session.storage, given);
    const found = await session.client.why(id);
    if (found === null) throw noSuchJob(id);
    const nowMs = await session.storage.now();
    context.terminal.answer({ job: found.job, reasons: found.reasons }, () =>
      print(context.terminal, found, nowMs),
    );
    return exitCodes.ok;
  },
};

const workerPrefix = 'worker:';

async function whyWorker(context: CommandContext, id: string): Promise<number> {
  await using session = await openSession(context);
  const found = await session.client.whyWorker(id);
  if (found === null) {
    throw new MillraceError('worker-not-found', `there is no worker ${id}. See: millrace workers`, {
      details: { id },
    });
  }
  const { terminal } = context;
  terminal.answer(found, () => {
    const { style } = terminal;
    const { worker, reasons } = found;
    terminal.line(`${style.bold(worker.id)}  ${printable(`${worker.host}:${worker.pid}`)}  ${worker.status}`);
    for (const { code, sentence } of reasons)
      terminal.line(`  ${printable(sentence.replace('<id>', worker.id))} ${style.dim(`[${code}]`)}`);
  });
  return exitCodes.ok;
}

function print(terminal: Terminal, { job, reasons }: Why, nowMs: number): void {
  const { style } = terminal;
  const status = paintOfStatus(job.status, style)?.(job.status) ?? job.status;
  terminal.line(`${style.bold(job.id)}  ${printable(job.name)}  ${status}`);
  for (const reason of reasons)
    terminal.line(`  ${printable(reason.sentence)} ${style.dim(marginal(reason, nowMs))}`);
}

function marginal({ code, nextChangeAt }: WhyReason, nowMs: number): string {
  if (nextChangeAt === null) return `[${code}]`;
  return `[${code}, can change ${relativeTime(nextChangeAt.getTime(), nowMs)}]`;
}
