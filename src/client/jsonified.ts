/**
 * What becomes of a type on its way through JSON: a Date comes back as a text, methods and undefined
 * properties are gone, a Map was kept as an array of pairs. Types that JSON tells whole stay as they are.
 */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | void
    ? T
    : T extends bigint
      ? string
      : T extends { toJSON(): infer Told }
        ? Jsonified<Told>
        : T extends ReadonlyMap<infer Key, infer Value>
          ? [Jsonified<Key>, Jsonified<Value>][]
          : T extends ReadonlySet<infer Item>
            ? Jsonified<Item>[]
            : T extends ((...args: never) => unknown) | symbol
              ? undefined
              : T extends object
                ? JsonifiedObject<T>
                : T;

type JsonifiedObject<T extends object> = T extends readonly unknown[]
  ? { [Index in keyof T]: Jsonified<T[Index]> }
  : {
      [Key in keyof T as T[Key] extends ((...args: never) => unknown) | symbol ? never : Key]: Jsonified<
        T[Key]
      >;
    };
