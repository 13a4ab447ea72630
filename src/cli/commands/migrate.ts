import { MillraceError } from '../../internal/errors.js';
import { maskUrl } from '../../internal/logger.js';
import { migrationScript } from '../../storage/migration-script.js';
import { createStorage } from '../../storage/open-storage.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { setUp } from '../session.js';

interface Flags {
  readonly sql?: boolean;
}

export const migrate: CommandSpec<Flags> = {
  name: 'migrate',
  summary: 'create the tables, or bring them up to date',
  details:
    'Safe to run at any time, also by several at once, and beside workers of this version and the one before.\n' +
    'SQLite also migrates by itself when a worker or a client opens it.',
  examples: ['millrace migrate', 'millrace migrate --sql > millrace.sql'],
  addOptions(command) {
    command.option('--sql', 'print all migrations as SQL and touch no database');
  },
  async run(context, _args, { sql = false }) {
    const { terminal } = context;
    const setup = await setUp(context);
    if (sql) {
      const text = await migrationScript(setup.database);
      terminal.answer({ sql: text }, () => terminal.line(text.trimEnd()));
      return exitCodes.ok;
    }
    const storage = await createStorage(setup.database, {
      statementTimeoutMs: setup.settings.values.databaseTimeoutMs,
    });
    if (storage.migrate === undefined) {
      throw new MillraceError(
        'database-url-invalid',
        `migrate: expected a database with tables, got ${setup.database}`,
      );
    }
    try {
      const { from, to, applied } = await storage.migrate();
      const steps = applied.map(({ number, title }) => ({ number, title }));
      terminal.answer({ from, to, applied: steps }, () => {
        for (const { number, title } of steps) terminal.line(`applied ${number} ${title}`);
        const state = steps.length === 0 ? 'was up to date' : 'is up to date';
        terminal.line(`${maskUrl(setup.database)} ${state}: schema ${to}`);
      });
      return exitCodes.ok;
    } finally {
      await storage.close();
    }
  },
};
