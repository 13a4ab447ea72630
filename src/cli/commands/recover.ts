import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { openSession } from '../session.js';

interface Flags {
  readonly force?: boolean;
}

const risk =
  '--force takes every lease that has expired. A worker that lives but lost sight of the database may still be ' +
  'running its job, so that job can run twice; the late result of the first run is refused.';

export const recover: CommandSpec<Flags> = {
  name: 'recover',
  summary: 'take back jobs whose worker is gone',
  details: `Workers do this by themselves. Without --force a lease is taken back only when it ended a whole lease ago.\n${risk}`,
  examples: ['millrace recover', 'millrace recover --force'],
  addOptions(command) {
    command.option('--force', 'take every expired lease; a job may then run twice');
  },
  async run(context, _args, { force = false }) {
    const { terminal } = context;
    await using session = await openSession(context);
    if (force)
      terminal.note('--force: a job whose worker lives but lost sight of the database may run twice');
    const { retried, buried, ended, waiting } = await session.client.recover({ force });
    const queues = [...new Set([...Object.keys(retried), ...Object.keys(buried)])].sort();
    terminal.answer({ retried, buried, ended, waiting }, () => {
      if (queues.length === 0) terminal.line('no job had to be recovered');
      else {
        terminal.table(queues, [
          { title: 'QUEUE', value: (queue) => queue, shrinkTo: 12 },
          { title: 'RETRIED', value: (queue) => retried[queue] ?? 0, align: 'right' },
          { title: 'BURIED', value: (queue) => buried[queue] ?? 0, align: 'right' },
        ]);
      }
      if (ended > 0) terminal.line(`${ended} cancelled or deleted, as was asked for while they ran`);
      if (waiting > 0) {
        terminal.line(
          `${waiting} expired ${waiting === 1 ? 'lease was' : 'leases were'} left alone: too fresh to be sure that the worker is gone`,
        );
      }
    });
    return exitCodes.ok;
  },
};
