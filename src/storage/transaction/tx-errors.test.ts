import { describe, expect, it } from 'vitest';
import { driverErrorIn } from './tx-errors.js';

const prismaError = (meta: unknown): Error =>
  Object.assign(new Error('Invalid `prisma.$executeRawUnsafe()` invocation'), { code: 'P2010', meta });

describe('the error of the driver in what an ORM throws', () => {
  it('is found where a driver adapter of Prisma keeps it', () => {
    const cause = {
      originalCode: '1062',
      originalMessage: 'Duplicate entry',
      kind: 'UniqueConstraintViolation',
    };
    const driverAdapterError = Object.assign(new Error('UniqueConstraintViolation'), { cause });
    expect(driverErrorIn(prismaError({ driverAdapterError }))).toMatchObject({
      code: '1062',
      errno: 1062,
      message: 'Duplicate entry',
    });
  });

  it('is found where Prisma kept it before there were adapters', () => {
    const error = driverErrorIn(prismaError({ code: '40001', message: 'could not serialize' }));
    expect(error).toMatchObject({ code: '40001', message: 'could not serialize' });
  });

  it('is found in a chain of causes, and else the error stands for itself', () => {
    const driver = Object.assign(new Error('duplicate key'), { code: '23505' });
    expect(driverErrorIn(new Error('Failed query', { cause: driver }))).toBe(driver);
    for (const meta of [undefined, null, {}, { driverAdapterError: null }]) {
      const bare = prismaError(meta);
      expect(driverErrorIn(bare)).toBe(bare);
    }
  });
});
