import { driveAwaited, type UserDatabase } from '../user-database.js';

/** What the tests use of a generated client, whichever database it is for. */
export interface PrismaTransaction {
  readonly note: { create(input: { data: { textOf: string } }): PromiseLike<unknown> };
  $executeRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<number>;
}

interface PrismaClient {
  $transaction<T>(
    work: (tx: PrismaTransaction) => Promise<T>,
    options: { maxWait: number; timeout: number },
  ): Promise<T>;
}

/** Prisma's own limits, 2 s and 5 s, are too tight for a busy machine. */
const limits = { maxWait: 60_000, timeout: 120_000 };

/** The interactive transactions of a generated client. */
export function transact(client: PrismaClient): UserDatabase['transaction'] {
  return (steps) =>
    client.$transaction(
      (tx) =>
        driveAwaited(
          steps({
            tx: tx as never,
            isSync: false,
            insert: (textOf) => tx.note.create({ data: { textOf } }),
            run: (sql) => tx.$executeRawUnsafe(sql),
          }),
        ),
      limits,
    );
}
