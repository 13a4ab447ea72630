import { expectedGot, MillraceError } from '../../internal/errors.js';
import { type Logger, maskUrl, silentLogger } from '../../internal/logger.js';
import type { StorageOptions } from '../storage.js';

export interface MysqlStorageOptions extends StorageOptions {
  /**
   * Address as in `mysql://user:password@host:3306/database`, of MySQL or MariaDB. Parameters: `socketPath`, and `ssl`
   * (`true`: the server's certificate is checked; `insecure`: encrypted, unchecked).
   */
  readonly url: string;
  /** Begins the name of every table: up to 40 letters, digits and `_`. @default 'millrace_' */
  readonly tablePrefix?: string;
  /** `auto`: bring the schema up to date on `open`. `check`: refuse one that does not fit. @default 'check' */
  readonly migrate?: 'auto' | 'check';
}

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly socketPath: string | undefined;
  readonly ssl: 'none' | 'checked' | 'insecure';
}

export interface ResolvedMysqlOptions {
  readonly address: Address;
  readonly tablePrefix: string;
  readonly migrate: 'auto' | 'check';
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
  readonly offsetMs: () => number;
}

export const defaultTablePrefix = 'millrace_';
const defaultStatementTimeoutMs = 30_000;
const defaultPort = 3306;
const prefixPattern = /^[A-Za-z0-9_]{0,40}$/;

/** @throws MillraceError `option-invalid`, `database-url-invalid` */
export function resolveOptions(options: MysqlStorageOptions): ResolvedMysqlOptions {
  const { url, tablePrefix = defaultTablePrefix, migrate = 'check', clock } = options;
  const { statementTimeoutMs = defaultStatementTimeoutMs, logger = silentLogger } = options;
  if (!prefixPattern.test(tablePrefix)) {
    throw invalid('option "tablePrefix"', 'up to 40 letters, digits and _', tablePrefix);
  }
  if (migrate !== 'auto' && migrate !== 'check')
    throw invalid('option "migrate"', "'auto' or 'check'", migrate);
  if (!Number.isFinite(statementTimeoutMs) || statementTimeoutMs < 1) {
    throw invalid('option "statementTimeoutMs"', 'a number of milliseconds above 0', statementTimeoutMs);
  }
  return Object.freeze({
    address: parseAddress(url),
    tablePrefix,
    migrate,
    statementTimeoutMs,
    logger,
    offsetMs: () => Math.round(clock?.offsetMs() ?? 0),
  });
}

/** Read here and not by the driver, which would let an address switch on options of its own. */
function parseAddress(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '');
  if (
    url === undefined ||
    !/^(mysql|mariadb):$/.test(url.protocol) ||
    database === '' ||
    database.includes('/')
  ) {
    throw badAddress('mysql://user:password@host:3306/database', text);
  }
  for (const name of url.searchParams.keys()) {
    if (name !== 'socketPath' && name !== 'ssl')
      throw badAddress('no other parameters than socketPath and ssl', name);
  }
  const ssl = url.searchParams.get('ssl') ?? 'false';
  if (!['true', 'false', 'insecure'].includes(ssl))
    throw badAddress("ssl to be 'true', 'insecure' or 'false'", ssl);
  return Object.freeze({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: url.port === '' ? defaultPort : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    socketPath: url.searchParams.get('socketPath') ?? undefined,
    ssl: ssl === 'true' ? 'checked' : ssl === 'insecure' ? 'insecure' : 'none',
  });
}

function badAddress(expected: string, got: string): MillraceError {
  const what = 'database address';
  return new MillraceError('database-url-invalid', expectedGot({ what, expected, got: maskUrl(got) }));
}

const invalid = (what: string, expected: string, got: unknown): MillraceError =>
  new MillraceError('option-invalid', expectedGot({ what, expected, got }), { details: { got } });
