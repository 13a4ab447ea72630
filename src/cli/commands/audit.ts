import type { AuditListing } from '../../client/fleet-control.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { FlagValues } from '../flag-values.js';
import type { Column } from '../output/table.js';
import { openSession } from '../session.js';

type Flags = { readonly limit?: string; readonly cursor?: string };

const columns: readonly Column<AuditListing>[] = [
  { title: 'AT', value: ({ at }) => at.toISOString() },
  { title: 'WHO', value: ({ actor }) => actor, shrinkTo: 10 },
  { title: 'DID', value: ({ action }) => action },
  { title: 'TO', value: ({ target }) => target, shrinkTo: 12 },
  { title: 'FROM', value: ({ source }) => source, expendable: 1 },
  {
    title: 'RESULT',
    value: ({ result }) => result,
    paint: ({ result }, style) => (result === 'done' ? style.good : style.warning),
  },
];

export const audit: CommandSpec<Flags> = {
  name: 'audit',
  summary: 'list what operators did to workers',
  details: 'The newest first. Entries are kept for 400 days.',
  examples: ['millrace audit', 'millrace audit --limit 1000 --json'],
  addOptions(command) {
    command.option('--limit <n>', 'at most so many, 1 to 1000 (default 100)');
    command.option('--cursor <text>', 'go on after the page that told this');
  },
  async run(context, _args, { limit, cursor }) {
    const values = new FlagValues('audit');
    const options = { limit: values.count('--limit', limit, 1_000), cursor };
    values.throwIfAny();
    await using session = await openSession(context);
    const page = await session.client.audit(options);
    context.terminal.answer(page, () => {
      if (page.entries.length === 0) context.terminal.line('nothing was done to any worker yet');
      else context.terminal.table([...page.entries], columns);
      if (page.next !== null) context.terminal.note(`there are more; go on with: --cursor ${page.next}`);
    });
    return exitCodes.ok;
  },
};
