import { MemoryStorage } from '../../src/storage/memory/storage.js';
import type { Storage } from '../../src/storage/storage.js';

/** `open` and `close` belong to the fixture; a user's transaction needs a handle of each engine's own driver. */
const notRandom = ['constructor', 'open', 'close', 'within', 'withinSync'];

/** The names of all calls of the seam that random runs make, read off its reference implementation. */
export const seamMethods: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(MemoryStorage.prototype).filter((name) => !notRandom.includes(name)),
);

/**
 * One storage made of several objects on the same database, called in turn: none may rely on what it remembers. Claims
 * under one token go to one object, as a worker makes them.
 */
export function inTurn(storages: readonly Storage[], calls: Set<string>): Storage {
  let turn = 0;
  const [first] = storages;
  if (first === undefined) throw new Error('expected at least one storage, got none');
  return new Proxy(first, {
    get(_target, property) {
      const value: unknown = Reflect.get(first, property, first);
      if (typeof value !== 'function') return value;
      if (typeof property === 'string') calls.add(property);
      return (...args: unknown[]): unknown => {
        turn += 1;
        const storage = storages[(tokenNumber(args.at(-1)) ?? turn) % storages.length] ?? first;
        return Reflect.apply(Reflect.get(storage, property, storage) as typeof value, storage, args);
      };
    },
  });
}

/** The number at the end of the token of a claim. */
function tokenNumber(request: unknown): number | null {
  if (typeof request !== 'object' || request === null || !('takes' in request && 'token' in request))
    return null;
  return Number.parseInt(String(request.token).slice(-4), 16);
}
