import type { WorkerDeed } from '../../client/fleet-control.js';
import type { Millrace } from '../../client/millrace.js';
import { MillraceError } from '../../internal/errors.js';
import { nearestName } from '../../internal/nearest-name.js';
import type { WorkerChangeOutcome } from '../../storage/worker-record.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { openSession } from '../session.js';

/** What each deed does, in the words of its answer. */
const done: Readonly<Record<WorkerDeed, string>> = {
  drain: 'takes no more jobs until it is activated; what runs goes on',
  activate: 'takes jobs',
  standby: 'takes only what no active worker has taken',
  recycle: 'finishes what runs and makes room for a fresh process, once it is its turn',
  forget: 'is forgotten',
};

const deeds = Object.keys(done) as WorkerDeed[];

export const worker: CommandSpec = {
  name: 'worker <deed> <id>',
  summary: 'drain, activate, standby, recycle or forget a worker',
  details:
    'drain: take no more jobs, and stay. activate: end a drain or a standby. standby: take only what no active worker has taken.\n' +
    'recycle: finish what runs and make room for a fresh process. forget: remove the registration of a worker that is offline.\n' +
    'Drain and standby are kept under the id of the worker, over restarts too. A live worker hears of it within a second or two. Each deed stands in "millrace audit".',
  examples: ['millrace worker drain w-7f3a91c0-1', 'millrace worker recycle w-7f3a91c0-1'],
  async run(context, [given = '', id = '']) {
    const deed = deedOf(given);
    await using session = await openSession(context);
    const outcome = await carryOut(session.client, deed, id);
    if (outcome === 'not-found') {
      throw new MillraceError('worker-not-found', `there is no worker ${id}. See: millrace workers`, {
        details: { id },
      });
    }
    if (outcome === 'alive') {
      throw new MillraceError(
        'worker-alive',
        `worker ${id} lives, and only an offline one can be forgotten. Stop its process first, or wait until it is shown as offline`,
        { details: { id } },
      );
    }
    context.terminal.answer({ id, deed, outcome }, () => context.terminal.line(`${id} ${done[deed]}`));
    return exitCodes.ok;
  },
};

function deedOf(given: string): WorkerDeed {
  const deed = deeds.find((one) => one === given);
  if (deed !== undefined) return deed;
  const nearest = nearestName(given, deeds);
  throw new MillraceError(
    'usage-invalid',
    `worker: expected one of ${deeds.join(', ')}, got "${given}"${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`,
    { details: { nearest } },
  );
}

function carryOut(client: Millrace, deed: WorkerDeed, id: string): Promise<WorkerChangeOutcome> {
  const source = { source: 'cli' };
  switch (deed) {
    case 'drain':
      return client.drainWorker(id, source);
    case 'activate':
      return client.activateWorker(id, source);
    case 'standby':
      return client.standbyWorker(id, source);
    case 'recycle':
      return client.recycleWorker(id, source);
    case 'forget':
      return client.forgetWorker(id, source);
  }
}
