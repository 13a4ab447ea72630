import { expectedGot, MillraceError } from '../../internal/errors.js';
import { type Logger, silentLogger } from '../../internal/logger.js';
import type { StorageOptions } from '../storage.js';

export interface PostgresStorageOptions extends StorageOptions {
  /** Address as in `postgres://user:password@host:5432/database`. */
  readonly url: string;
  /** Schema that holds the tables: 1 to 40 letters, digits and `_`. @default 'millrace' */
  readonly schema?: string;
  /**
   * Whether statements are kept prepared and the session is set up for them. `false` for a pooler in transaction mode;
   * one that refuses them is also noticed by itself. @default true
   */
  readonly prepare?: boolean;
  /** `auto`: bring the schema up to date on `open`. `check`: refuse one that does not fit. @default 'check' */
  readonly migrate?: 'auto' | 'check';
}

export interface ResolvedPostgresOptions {
  readonly url: string;
  readonly schema: string;
  readonly prepare: boolean;
  readonly migrate: 'auto' | 'check';
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
  readonly offsetMs: () => number;
}

export const defaultSchema = 'millrace';
const defaultStatementTimeoutMs = 30_000;
const schemaPattern = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

/** @throws MillraceError `option-invalid`, `database-url-invalid` */
export function resolveOptions(options: PostgresStorageOptions): ResolvedPostgresOptions {
  const { url, schema = defaultSchema, prepare = true, migrate = 'check', clock } = options;
  const { statementTimeoutMs = defaultStatementTimeoutMs, logger = silentLogger } = options;
  if (!URL.canParse(url) || !/^postgres(ql)?:/i.test(url)) {
    throw new MillraceError(
      'database-url-invalid',
      'database address: expected postgres://user:password@host:port/database',
    );
  }
  if (!schemaPattern.test(schema)) {
    throw invalid('option "schema"', '1 to 40 letters, digits and _, not a digit first', schema);
  }
  if (migrate !== 'auto' && migrate !== 'check')
    throw invalid('option "migrate"', "'auto' or 'check'", migrate);
  if (!Number.isFinite(statementTimeoutMs) || statementTimeoutMs < 1) {
    throw invalid('option "statementTimeoutMs"', 'a number of milliseconds above 0', statementTimeoutMs);
  }
  return Object.freeze({
    url,
    schema,
    prepare,
    migrate,
    statementTimeoutMs,
    logger,
    offsetMs: () => Math.round(clock?.offsetMs() ?? 0),
  });
}

const invalid = (what: string, expected: string, got: unknown): MillraceError =>
  new MillraceError('option-invalid', expectedGot({ what, expected, got }), { details: { got } });
