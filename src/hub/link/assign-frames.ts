import type { AssignMessage } from '../../protocol/hub-messages.js';
import { maxFrameBytes } from '../../protocol/link-terms.js';
import type { ClaimedJob } from '../../storage/claimed-job.js';

/** With what stands around the jobs. */
const roomBytes = maxFrameBytes - 1_024;

/** Jobs in parts that each fit a frame; one that alone is larger goes alone. */
export function framesOf(jobs: readonly ClaimedJob[]): ClaimedJob[][] {
  const parts: ClaimedJob[][] = [];
  let part: ClaimedJob[] = [];
  let bytes = 0;
  for (const job of jobs) {
    const size = sizeOf(job);
    if (part.length > 0 && bytes + size > roomBytes) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(job);
    bytes += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** Of small texts a bound that is cheap; of large ones what they really take. */
function sizeOf(job: ClaimedJob): number {
  const texts = job.payload.length + (job.errors?.length ?? 0);
  return texts < 4_096 ? texts * 6 + 2_048 : Buffer.byteLength(JSON.stringify(job)) + 1;
}

/** The message for a part. */
export function assignOf(jobs: ClaimedJob[], fields: Omit<AssignMessage, 'type' | 'jobs'>): AssignMessage {
  return {
    type: 'assign',
    ...fields,
    jobs: jobs.map((job) => ({ ...job, requires: [...job.requires] })),
  };
}
