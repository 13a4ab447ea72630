import type {
  AccessToken,
  NewAccessToken,
  TokenCreation,
  TokenRevocation,
  TokenRole,
} from '../access-token.js';
import type { NewAuditEntry } from '../audit.js';
import { auditValues } from './audit-values.js';
import type { Context } from './context.js';
import { tokenQueries } from './queries/tokens.js';
import { workerQueries } from './queries/workers.js';
import { boolOf, type Executor, intOf, intOrNull, type Row, textOf } from './statement.js';

export class Tokens {
  readonly #context: Context;
  readonly #queries: ReturnType<typeof tokenQueries>;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = tokenQueries(context.schema);
  }

  create(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation> {
    return this.#audited('creating a token', audit, async (tx) => {
      const { id, secretHash, role, name, validForMs } = token;
      const validFor = validForMs === null ? null : Math.round(validForMs);
      const values = [id, secretHash, role, name, validFor, this.#context.offsetMs()];
      if ((await tx.run(this.#queries.create, values)).length > 0) return 'done';
      return (await this.#find(tx, id))?.secretHash === secretHash ? 'done' : 'duplicate';
    });
  }

  one(id: string): Promise<AccessToken | null> {
    return this.#find(this.#context.connection, id);
  }

  async list(): Promise<AccessToken[]> {
    const { connection, offsetMs } = this.#context;
    return (await connection.run(this.#queries.list, [offsetMs()])).map(tokenOf);
  }

  revoke(id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
    return this.#audited('revoking a token', audit, async (tx) => {
      const revoked = await tx.run(this.#queries.revoke, [id, this.#context.offsetMs()]);
      if (revoked.length > 0) return 'done';
      return (await this.#find(tx, id)) === null ? 'not-found' : 'already-revoked';
    });
  }

  async #find(executor: Executor, id: string): Promise<AccessToken | null> {
    const [row] = await executor.run(this.#queries.one, [id, this.#context.offsetMs()]);
    return row === undefined ? null : tokenOf(row);
  }

  #audited<T extends string>(
    name: string,
    audit: NewAuditEntry,
    work: (tx: Executor) => Promise<T>,
  ): Promise<T> {
    const { connection, offsetMs, schema } = this.#context;
    return connection.transaction(name, async (tx) => {
      const outcome = await work(tx);
      await tx.run(workerQueries(schema).writeAudit, auditValues(audit, outcome, offsetMs()));
      return outcome;
    });
  }
}

function tokenOf([id, secretHash, role, name, createdAt, expiresAt, revokedAt, isValid]: Row): AccessToken {
  return {
    id: textOf(id),
    secretHash: textOf(secretHash),
    role: textOf(role) as TokenRole,
    name: textOf(name),
    createdAtMs: intOf(createdAt),
    expiresAtMs: intOrNull(expiresAt),
    revokedAtMs: intOrNull(revokedAt),
    isValid: boolOf(isValid),
  };
}
