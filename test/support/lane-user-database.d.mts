export interface UserStep {
  readonly note: string;
  readonly rollback?: boolean;
}

/** Writes a note in a transaction of its own, with what `within` does in it. */
export function inUserTransaction(
  address: string,
  step: UserStep,
  within: (handle: { readonly tx: unknown; readonly isSync: boolean }) => unknown,
): Promise<void>;
export function makeNotes(address: string): Promise<void>;
export function readNotes(address: string): Promise<string[]>;
