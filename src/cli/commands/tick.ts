import { defaultBudget } from '../../worker/tick.js';
import type { CommandSpec } from '../command.js';
import { FlagValues, flagDuration } from '../flag-values.js';
import { runBounded } from '../run-bounded.js';
import { setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { workerSettingNames } from '../worker-settings.js';

type Flags = Readonly<Record<string, unknown>> & { readonly budget?: string };

export const tick: CommandSpec<Flags> = {
  name: 'tick',
  summary: 'run what is due for a while, then end: for sites without a worker, by cron',
  details:
    'Takes back what workers that are gone had begun, then runs jobs that are due. Starts nothing that its time would not let ' +
    'end, judged by how long such jobs took of late; what still runs when it is over is put back, not charged. Ticks may ' +
    'overlap. Exit 0, also when nothing was due or jobs failed.',
  examples: ['millrace tick', 'millrace tick --budget 50s --queue critical,default'],
  addOptions(command) {
    command.option('--budget <duration>', `how long the whole may take (default ${defaultBudget})`);
    addSettingOptions(command, workerSettingNames);
  },
  async run(context, _args, flags) {
    const values = new FlagValues('tick');
    const budgetMs = values.duration('--budget', flags.budget, 1) ?? flagDuration('--budget', defaultBudget);
    values.throwIfAny();
    const setup = await setUp(context, settingFlags(flags, workerSettingNames));
    return runBounded(context, setup, { budgetMs, mostJobs: null });
  },
};
