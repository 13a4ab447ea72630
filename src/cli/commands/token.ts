import type { Command } from 'commander';
import type { TokenListing } from '../../client/access-tokens.js';
import { MillraceError } from '../../internal/errors.js';
import { nearestName } from '../../internal/nearest-name.js';
import { tokenRoles } from '../../storage/access-token.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Column } from '../output/table.js';
import { openSession, type Session } from '../session.js';

interface TokenFlags {
  readonly role?: string;
  readonly name?: string;
  readonly expires?: string;
}

type Deed = 'create' | 'list' | 'revoke';

const deeds: readonly Deed[] = ['create', 'list', 'revoke'];

const columns: readonly Column<TokenListing>[] = [
  { title: 'TOKEN', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name, shrinkTo: 10 },
  { title: 'ROLE', value: ({ role }) => role },
  {
    title: 'STATE',
    value: stateOf,
    paint: ({ isValid }, style) => (isValid ? style.good : style.dim),
  },
  { title: 'CREATED', expendable: 2, value: ({ createdAt }) => createdAt.toISOString() },
  { title: 'EXPIRES', expendable: 1, value: ({ expiresAt }) => expiresAt?.toISOString() ?? 'never' },
];

function stateOf({ isValid, revokedAt }: TokenListing): string {
  if (isValid) return 'valid';
  return revokedAt === null ? 'expired' : 'revoked';
}

export const token: CommandSpec<TokenFlags> = {
  name: 'token <deed> [id]',
  summary: 'create, list or revoke tokens of a hub',
  details:
    'create: prints a new token, this once; only its hash is kept. list: which there are. revoke: one that is revoked stops working within two seconds, on every hub and on open sockets too.\n' +
    'Roles: admin may all; submit dispatches and reads; read reads; worker links a worker (WORKER_SECRET) and nothing else.\n' +
    'As soon as there is a token, every hub asks for one, also on its own machine. Each deed stands in "millrace audit".',
  examples: [
    'millrace token create --role worker --name w1',
    'millrace token create --role read --name grafana --expires 90d',
    'millrace token list',
    'millrace token revoke 7f3a91c0ab12',
  ],
  addOptions(command: Command) {
    command
      .option('--role <role>', `create: ${tokenRoles.join(', ')}`)
      .option('--name <name>', 'create: whose it is, for people')
      .option('--expires <duration>', 'create: how long it holds, as in 30d (default: until it is revoked)');
  },
  async run(context, [given = '', id], flags) {
    const deed = deedOf(given);
    checkUse(deed, id, flags);
    await using session = await openSession(context);
    if (deed === 'create') await create(context, session, flags);
    else if (deed === 'list') await list(context, session);
    else await revoke(context, session, id ?? '');
    return exitCodes.ok;
  },
};

async function create({ terminal }: CommandContext, { client }: Session, flags: TokenFlags): Promise<void> {
  const made = await client.createToken({
    // Checked there, together with the rest.
    role: flags.role as never,
    name: flags.name ?? '',
    expires: flags.expires,
    source: 'cli',
  });
  terminal.answer(made, () => {
    terminal.line(made.token);
    terminal.note(`This is the only time that the token of "${made.name}" is shown; its id is ${made.id}.`);
  });
}

async function list({ terminal }: CommandContext, { client }: Session): Promise<void> {
  const tokens = await client.tokens();
  terminal.answer({ tokens }, () => {
    if (tokens.length > 0) terminal.table(tokens, columns);
    else terminal.line('there are no tokens: hubs are open to their own machine, and to no other');
  });
}

async function revoke({ terminal }: CommandContext, { client }: Session, id: string): Promise<void> {
  const outcome = await client.revokeToken(id, { source: 'cli' });
  if (outcome === 'not-found') {
    throw new MillraceError('token-not-found', `there is no token ${id}. See: millrace token list`, {
      details: { id },
    });
  }
  terminal.answer({ id, outcome }, () => {
    terminal.line(outcome === 'done' ? `token ${id} is revoked` : `token ${id} was revoked before`);
  });
}

function deedOf(given: string): Deed {
  const deed = deeds.find((one) => one === given);
  if (deed !== undefined) return deed;
  const nearest = nearestName(given, deeds);
  throw usage(
    `expected one of ${deeds.join(', ')}, got "${given}"${nearest === undefined ? '' : `. Did you mean ${nearest}?`}`,
  );
}

function checkUse(deed: Deed, id: string | undefined, flags: TokenFlags): void {
  if (deed === 'revoke' && id === undefined)
    throw usage('revoke needs the id of a token. See: millrace token list');
  if (deed !== 'revoke' && id !== undefined) throw usage(`${deed} takes no id`);
  if (deed === 'create' && (flags.role === undefined || flags.name === undefined)) {
    throw usage('create needs --role and --name, as in: millrace token create --role worker --name w1');
  }
  if (deed === 'create') return;
  const extra = (['role', 'name', 'expires'] as const).find((flag) => flags[flag] !== undefined);
  if (extra !== undefined) throw usage(`--${extra} belongs to create alone`);
}

function usage(text: string): MillraceError {
  return new MillraceError('usage-invalid', `token: ${text}`);
}
