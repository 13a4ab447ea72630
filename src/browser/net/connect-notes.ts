import { monotonicMs } from '../../worker/monotonic.js';

export type ConnectNote = { readonly kind: 'refused' | 'failed'; readonly why: string };

const keptMs = 60_000;
const most = 1_000;

/** What the last try to reach a host came to, for a minute, and for the newest 1,000 hosts. */
export class ConnectNotes {
  readonly #byHost = new Map<string, ConnectNote & { readonly atMs: number }>();

  /** Whether it is news. */
  note(host: string, kind: ConnectNote['kind'], why: string): boolean {
    const known = this.of(host);
    this.#byHost.delete(host);
    if (this.#byHost.size >= most)
      for (const oldest of [...this.#byHost.keys()].slice(0, 1)) this.forget(oldest);
    // From its first time on: what is tried for ever is told again now and then.
    const atMs = known?.kind === kind ? known.atMs : monotonicMs();
    this.#byHost.set(host, { kind, why, atMs });
    return known?.kind !== kind;
  }

  forget(host: string): void {
    this.#byHost.delete(host);
  }

  of(host: string): (ConnectNote & { readonly atMs: number }) | null {
    const known = this.#byHost.get(host);
    return known === undefined || monotonicMs() - known.atMs > keptMs ? null : known;
  }
}
