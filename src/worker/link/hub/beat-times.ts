import { monotonicMs } from '../../monotonic.js';
import type { SentMessage } from './hub-connection.js';

const mostKept = 64;

/**
 * When the heartbeats of a connection were sent. An assign names the last one that the hub had heard before it took the
 * jobs; their leases are no older than that. Of one that is no longer known the oldest known counts, which errs on the
 * side of an old lease.
 */
export class BeatTimes {
  #sent: SentMessage[] = [];

  /** A hello counts as a heartbeat, the first of its connection. */
  reset(hello: SentMessage): void {
    this.#sent = [hello];
  }

  note(beat: SentMessage): void {
    this.#sent.push(beat);
    if (this.#sent.length > mostKept) this.#sent.shift();
  }

  of(id: number): number {
    let atMs = this.#sent[0]?.atMs ?? Number.NEGATIVE_INFINITY;
    for (const beat of this.#sent) if (beat.id <= id) atMs = beat.atMs;
    return atMs;
  }

  /** The last one is older than a heartbeat should be: this process did not run for a while, and reads its mail first. */
  isLate(heartbeatMs: number): boolean {
    const last = this.#sent.at(-1);
    return last !== undefined && monotonicMs() - last.atMs > 2 * heartbeatMs;
  }
}
