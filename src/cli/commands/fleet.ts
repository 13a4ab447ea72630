import type { FleetRecycleReport } from '../../client/fleet-recycle.js';
import { parseUnavailable, unavailableText } from '../../client/fleet-recycle-options.js';
import { MillraceError } from '../../internal/errors.js';
import { nearestName } from '../../internal/nearest-name.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { FlagValues } from '../flag-values.js';
import { openSession } from '../session.js';

interface Flags {
  readonly maxUnavailable?: string;
  readonly returnWithin?: string;
  readonly drainWithin?: string;
}

const interrupted = 130;
const shortestMs = 1_000;
const barWidth = 24;

export const fleet: CommandSpec<Flags> = {
  name: 'fleet <deed>',
  summary: 'recycle all workers, some at a time',
  details:
    'recycle: asks each worker that lives to finish what runs and to make room for a fresh process, and waits until that runs under the same id before it asks the next. ' +
    'Never more than --max-unavailable are away at once; workers of one queue list take turns besides, a quarter of them at most.\n' +
    'Where one does not come back, or does not get done, it stops and says which. Ctrl-C asks nobody else; who was asked goes on. Each deed stands in "millrace audit".\n' +
    'Exit: 0 all are back, 1 stopped, 130 interrupted.',
  examples: ['millrace fleet recycle', 'millrace fleet recycle --max-unavailable 3 --return-within 2m'],
  addOptions(command) {
    command
      .option('--max-unavailable <share>', 'a share of the workers or a number of them', '25%')
      .option('--return-within <duration>', 'how long a worker may be away before it all stops', '60s')
      .option('--drain-within <duration>', 'how long a worker may take to finish what runs', '1h');
  },
  async run(context, [given = ''], flags) {
    const options = parseFlags(given, flags);
    const { terminal } = context;
    await using session = await openSession(context);
    const stop = new AbortController();
    const onSignal = (): void => stop.abort();
    process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
    try {
      const report = await session.client.recycleFleet({
        ...options,
        source: 'cli',
        signal: stop.signal,
        onProgress: (now) => terminal.progress(progressText(now)),
      });
      terminal.endProgress();
      terminal.answer(report, () => terminal.line(answerText(report)));
      for (const id of report.unheard) terminal.note(`${id} was not heard of late, so it was left out`);
      if (report.outcome === 'stopped') terminal.note(stopText(report));
      return exitCodeOf(report);
    } finally {
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    }
  },
};

function parseFlags(deed: string, flags: Flags) {
  if (deed !== 'recycle') {
    const nearest = nearestName(deed, ['recycle']);
    throw new MillraceError(
      'usage-invalid',
      `fleet: expected recycle, got "${deed}"${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`,
      { details: { nearest } },
    );
  }
  const values = new FlagValues('fleet');
  const maxUnavailable = values.take(flags.maxUnavailable, (text) => {
    if (parseUnavailable(text) !== null) return text;
    throw new MillraceError('option-invalid', `--max-unavailable: ${unavailableText(text)}`);
  });
  const returnWithin = values.duration('--return-within', flags.returnWithin, shortestMs);
  const drainWithin = values.duration('--drain-within', flags.drainWithin, shortestMs);
  values.throwIfAny();
  return { maxUnavailable, returnWithin, drainWithin };
}

/** `[██████░░░░] 3 of 4 back · w-7f3a91c0-2 finishes what runs` */
function progressText({ total, back, left, asked, away }: FleetRecycleReport): string {
  const done = back.length + left.length;
  const filled = total === 0 ? barWidth : Math.floor((done / total) * barWidth);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`;
  const busy = [
    ...asked.map((id) => `${id} finishes what runs`),
    ...away.map((id) => `${id} is to come back`),
  ];
  return [`${bar} ${done} of ${total} back`, ...busy.slice(0, 2)].join(' · ');
}

function answerText({ outcome, total, back, left }: FleetRecycleReport): string {
  if (total === 0) return 'no worker lives, so there is none to recycle';
  const ended = left.length === 0 ? '' : `, ${left.length} ended by themselves`;
  const text = `${back.length} of ${total} workers recycled${ended}`;
  return outcome === 'done' ? text : `${text}; ${outcome === 'aborted' ? 'interrupted' : 'stopped'}`;
}

function stopText({ reason, asked, waiting }: FleetRecycleReport): string {
  const going = asked.length === 0 ? '' : ` ${asked.join(', ')} had been asked and will still go.`;
  const kept = waiting.length === 0 ? '' : ` ${waiting.length} were not asked and run on.`;
  return (
    `stopped: ${reason}.${going}${kept} See what its log says; does whatever keeps it start it again, with the same ` +
    'MILLRACE_STATE_DIR? Then run this again'
  );
}

function exitCodeOf({ outcome }: FleetRecycleReport): number {
  if (outcome === 'aborted') return interrupted;
  return outcome === 'done' ? exitCodes.ok : exitCodes.failed;
}
