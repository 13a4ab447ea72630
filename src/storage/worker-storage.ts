import type { Storage } from './storage.js';

/**
 * What a worker needs of storage; on a hub link it is answered from a distance (`worker/link/hub/`). There `within` and
 * `withinSync` throw `needs-database`, and `capabilities.link` tells the two apart.
 */
export type WorkerStorage = Pick<
  Storage,
  | 'capabilities'
  | 'open'
  | 'close'
  | 'now'
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
  | 'workers'
  | 'takeDuty'
  | 'releaseDuty'
  | 'watch'
>;
