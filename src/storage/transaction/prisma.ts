import { type AsyncHandle, answersRows, type HandleValue, hasMethods } from './handle.js';
import { txInvalid } from './tx-errors.js';

interface Prisma {
  $queryRawUnsafe(sql: string, ...values: readonly HandleValue[]): Promise<unknown>;
  $executeRawUnsafe(sql: string, ...values: readonly HandleValue[]): Promise<unknown>;
}

/** An interactive transaction of Prisma, or anything with its two methods. It doesn't say what database it speaks to. */
export function prismaHandle(tx: object): AsyncHandle | null {
  if (!hasMethods(tx, '$queryRawUnsafe', '$executeRawUnsafe')) return null;
  // Both have $transaction since Prisma nests transactions; only a whole client connects.
  if (hasMethods(tx, '$connect')) {
    throw txInvalid({
      got: 'a Prisma client that is in no transaction',
      fix: 'Pass the object that prisma.$transaction(async (tx) => …) gives you',
    });
  }
  const prisma = tx as unknown as Prisma;
  return {
    mode: 'async',
    label: 'a Prisma transaction',
    dialect: null,
    identity: tx,
    async run(sql, values) {
      if (!answersRows(sql))
        return { rows: [], changed: Number(await prisma.$executeRawUnsafe(sql, ...values)) };
      return { rows: (await prisma.$queryRawUnsafe(sql, ...values)) as readonly unknown[], changed: 0 };
    },
  };
}
