import { MillraceError } from '../../src/internal/errors.js';
import type { Storage } from '../../src/storage/storage.js';

export type Fault =
  /** Rejects and changes nothing. */
  | 'before'
  /** Does it, and then rejects all the same. */
  | 'after'
  /** Never answers. */
  | 'hang';

/** A storage whose next calls of a method go wrong, in the order given; the rest goes through. */
export interface FaultyStorage {
  readonly storage: Storage;
  readonly calls: { readonly method: keyof Storage; readonly args: readonly unknown[] }[];
  fail(method: keyof Storage, faults: readonly Fault[], error?: () => Error): void;
}

const lost = (): Error => new MillraceError('connection-lost', 'the connection was cut by a test');

export function faultyStorage(inner: Storage): FaultyStorage {
  const planned = new Map<PropertyKey, { fault: Fault; error: () => Error }[]>();
  const calls: FaultyStorage['calls'] = [];
  const storage = new Proxy(inner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        calls.push({ method: key as keyof Storage, args });
        const plan = planned.get(key)?.shift();
        if (plan?.fault === 'hang') return new Promise(() => undefined);
        if (plan?.fault === 'before') throw plan.error();
        const answer: unknown = await Reflect.apply(value, target, args);
        if (plan?.fault === 'after') throw plan.error();
        return answer;
      };
    },
  });
  return {
    storage,
    calls,
    fail: (method, faults, error = lost) => {
      planned.set(method, [...(planned.get(method) ?? []), ...faults.map((fault) => ({ fault, error }))]);
    },
  };
}
