import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError } from '../internal/errors.js';
import type { Storage } from '../storage/storage.js';

export type Fault =
  /** Rejects and changes nothing. */
  | 'before'
  /** Does it, and then rejects all the same. */
  | 'after'
  /** Never answers. */
  | 'hang'
  /** Answers late. */
  | { readonly delayMs: number };

/** Decides about each call by its method and its number among the calls of that method, from 1; null lets it through. */
export type FaultPlan = (call: { readonly method: keyof Storage; readonly nth: number }) => Fault | null;

/** A storage whose calls go wrong by a plan, or as said by `fail`: the next ones of a method, in the order given. */
export interface FaultyStorage {
  readonly storage: Storage;
  readonly calls: { readonly method: keyof Storage; readonly args: readonly unknown[] }[];
  fail(method: keyof Storage, faults: readonly Fault[], error?: () => Error): void;
}

const lost = (): Error => new MillraceError('connection-lost', 'the connection was cut by a test');

export function faultyStorage(inner: Storage, plan: FaultPlan = () => null): FaultyStorage {
  const planned = new Map<PropertyKey, { fault: Fault; error: () => Error }[]>();
  const counts = new Map<PropertyKey, number>();
  const calls: FaultyStorage['calls'] = [];
  const storage = new Proxy(inner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        const method = key as keyof Storage;
        const nth = (counts.get(key) ?? 0) + 1;
        counts.set(key, nth);
        calls.push({ method, args });
        const { fault, error } = planned.get(key)?.shift() ?? { fault: plan({ method, nth }), error: lost };
        if (fault === 'hang') return new Promise(() => undefined);
        if (fault === 'before') throw error();
        if (typeof fault === 'object' && fault !== null) await delay(fault.delayMs);
        const answer: unknown = await Reflect.apply(value, target, args);
        if (fault === 'after') throw error();
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
