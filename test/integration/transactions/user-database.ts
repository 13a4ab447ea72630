/** One transaction as a test writes it: steps that may have to be awaited are yielded. */
export type Steps<T> = Generator<unknown, T, unknown>;

/** An application's own transaction. */
export interface UserTx {
  /** What the application passes as `tx`. */
  readonly tx: never;
  readonly isSync: boolean;
  /** Writes a row of the application's. */
  insert(text: string): unknown;
  /** Runs any statement. */
  run(sql: string): unknown;
}

/** An application's own way to the database, with a table `notes` of its own. */
export interface UserDatabase extends AsyncDisposable {
  /** Runs the steps in one transaction, committed at their end and rolled back by what they throw. */
  transaction<T>(steps: (tx: UserTx) => Steps<T>): Promise<T>;
  notes(): Promise<string[]>;
}

export interface UserKind {
  readonly engine: 'postgres' | 'mysql' | 'sqlite';
  /** For test names. */
  readonly name: string;
  /** Between its steps other code can run, with the transaction open. */
  readonly isAwaited: boolean;
  open(address: string): Promise<UserDatabase>;
}

export async function driveAwaited<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

export function driveSync<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    if (step.value instanceof Promise)
      throw new Error('a step of a synchronous transaction must not be awaited');
    step = steps.next(step.value);
  }
  return step.value;
}

export const makeNotes = 'create table if not exists notes (text_of varchar(200) not null)';
export const readNotes = 'select text_of from notes order by text_of';
