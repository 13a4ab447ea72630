import { MemoryStorage } from '../../src/storage/memory/storage.js';
import type { Storage } from '../../src/storage/storage.js';

/** The names of all calls of the seam, read off its reference implementation; `open` and `close` belong to the fixture. */
export const seamMethods: ReadonlySet<string> = new Set(
  Object.getOwnPropertyNames(MemoryStorage.prototype).filter(
    (name) => !['constructor', 'open', 'close'].includes(name),
  ),
);

/** The same storage, writing down which calls were made. */
export function recordingCalls(storage: Storage, calls: Set<string>): Storage {
  return new Proxy(storage, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (typeof property === 'string') calls.add(property);
      return value.bind(target);
    },
  });
}
