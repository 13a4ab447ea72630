/** One deed of an operator, written in the transaction that does it. */
export interface NewAuditEntry {
  /** A UUID made by the caller; an entry that is written again stands once. */
  readonly id: string;
  /** Who: a person at a host, a token, a program. */
  readonly actor: string;
  /** What: `worker.drain`. */
  readonly action: string;
  /** To what: an id or name. */
  readonly target: string;
  /** From where: `cli`, `library`, an address. */
  readonly source: string;
}

export interface AuditEntry extends NewAuditEntry {
  /** By the database's clock. */
  readonly atMs: number;
  /** What came of it: `done`, `not-found`, … */
  readonly result: string;
}

export interface AuditPageRequest {
  readonly limit: number;
  /** The last entry of the page before. */
  readonly after?: { readonly atMs: number; readonly id: string };
}

/** Entries are kept for so long, whatever else is purged: 400 days, a year with the time to ask for it. */
export const auditKeptMs = 400 * 86_400_000;
