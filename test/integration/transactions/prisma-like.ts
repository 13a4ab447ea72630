/*
 * The two methods of an interactive transaction as Prisma had them before driver adapters, whose engine can't be
 * installed by npm alone: no driver object is to be seen, integers of 8 bytes are BigInts, bytes are Uint8Arrays, and a
 * failed statement is a P2010 that carries the code of the database in `meta`. On SQLite it stands for the newer ones as
 * well, since their adapter would make SQLite's driver, which may have to be compiled, a must of every install.
 */
export interface PrismaLike {
  $queryRawUnsafe(sql: string, ...values: unknown[]): Promise<unknown>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
}

type Query = (
  sql: string,
  values: readonly unknown[],
) => Promise<{ rows: readonly object[]; changed: number }>;

export function prismaLike(query: Query): PrismaLike {
  const ask = async (sql: string, values: readonly unknown[]): ReturnType<Query> => {
    try {
      return await query(sql, values);
    } catch (error) {
      const { code, errno, message } = error as { code?: string; errno?: number; message: string };
      const meta = { code: String(errno ?? code), message };
      throw Object.assign(new Error(`Raw query failed. Code: ${meta.code}.`), { code: 'P2010', meta });
    }
  };
  return {
    $queryRawUnsafe: async (sql, ...values) => (await ask(sql, values)).rows.map(withPrismaTypes),
    $executeRawUnsafe: async (sql, ...values) => (await ask(sql, values)).changed,
  };
}

function withPrismaTypes(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, Buffer.isBuffer(value) ? new Uint8Array(value) : value]),
  );
}
