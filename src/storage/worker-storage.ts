import type { Capabilities } from './capabilities.js';
import type { ClaimedJob } from './claimed-job.js';
import type { Storage } from './storage.js';

/** Who is told of what a hub does by itself with the room of a worker. */
export interface StandingRoomListener {
  /** Jobs came for room that stood; their leases are no older than `askedAtMs` (monotonic). */
  onAssigned(jobs: readonly ClaimedJob[], askedAtMs: number): void;
  /** A job that must run alone is due. */
  onAloneDue(): void;
  /** A connection stands; no room of this worker is known there. */
  onOpen(): void;
  /** It is lost, and all room with it. */
  onLost(): void;
}

/** Room that stands at the other end of a hub link: a claim is answered at once, and what it leaves stays there. */
export interface StandingRoom {
  listen(listener: StandingRoomListener): void;
}

/**
 * What a worker needs of storage; on a hub link it is answered from a distance (`worker/link/hub/`). There `within` and
 * `withinSync` throw `needs-database`, a claim may ask for nothing at all (which takes back the room that stands), and
 * `standing` tells the two apart.
 */
export interface WorkerStorage
  extends Pick<
    Storage,
    | 'enqueue'
    | 'within'
    | 'withinSync'
    | 'claim'
    | 'settle'
    | 'exchange'
    | 'markStarted'
    | 'renew'
    | 'peek'
    | 'endings'
    | 'queues'
    | 'appendLog'
    | 'noteProfiles'
    | 'profiles'
    | 'watch'
  > {
  readonly capabilities: Pick<Capabilities, 'shared' | 'push'>;
  readonly standing?: StandingRoom;
}
