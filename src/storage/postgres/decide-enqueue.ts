import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { keyKind, statusCode } from './codes.js';

/** What holds while the transaction lasts. Keys are named `<kind> <key>`. */
export interface KnownState {
  /** Ids that were written before. */
  readonly known: ReadonlySet<string>;
  /** Parents outside this call: alive (and locked), or the code of their final status. */
  readonly parents: Map<string, 'live' | number>;
  /** Keys of this call that others hold; all its other keys are ours to give. */
  readonly keys: Map<string, { readonly job: string; readonly inputHash: string | null }>;
}

export interface HeldKey {
  readonly kind: number;
  readonly key: string;
  readonly job: string;
  readonly periodMs: number | null;
  readonly inputHash: string | null;
}

export interface Decided {
  readonly job: NewJob;
  readonly outcome: EnqueueOutcome;
  /** Null where nothing is written. */
  readonly status: 'pending' | 'blocked' | 'buried' | 'cancelled' | null;
  readonly edges: readonly { readonly parent: string; readonly met: boolean }[];
  readonly keys: readonly HeldKey[];
  /** A later job of this call waits for it. */
  isFollowed: boolean;
}

/** What becomes of each job, in the order of the call; each sees the earlier ones. */
export function decide(jobs: readonly NewJob[], state: KnownState): Decided[] {
  const holders = new Map(state.keys);
  const written = new Map<string, Decided>();
  return jobs.map((job) => {
    const refusal = whatStandsAgainst(job, state, holders, written);
    if (refusal !== null)
      return { job, outcome: refusal, status: null, edges: [], keys: [], isFollowed: false };
    const row = birth(job, state, written);
    for (const key of keysOf(row))
      holders.set(`${key.kind} ${key.key}`, { job: job.id, inputHash: key.inputHash });
    for (const { parent } of row.edges) {
      const inCall = written.get(parent);
      if (inCall !== undefined) inCall.isFollowed = true;
    }
    written.set(job.id, row);
    return row;
  });
}

/** The order of these checks is part of the seam. */
function whatStandsAgainst(
  job: NewJob,
  state: KnownState,
  holders: KnownState['keys'],
  written: ReadonlyMap<string, Decided>,
): EnqueueOutcome | null {
  if (state.known.has(job.id) || written.has(job.id)) return { outcome: 'replayed', id: job.id };
  if (job.idempotency !== null) {
    const holder = holders.get(`${keyKind.idempotency} ${job.idempotency.key}`);
    if (holder !== undefined) {
      const isSame = holder.inputHash === job.idempotency.inputHash;
      return { outcome: isSame ? 'replayed' : 'idempotency-conflict', id: holder.job };
    }
  }
  const holder = job.unique === null ? undefined : holders.get(`${keyKind.unique} ${job.unique.key}`);
  // The same dispatch, repeated while its first try was still under way.
  if (holder?.job === job.id) return { outcome: 'replayed', id: job.id };
  if (holder !== undefined) return { outcome: 'duplicate', id: holder.job };
  const missing = job.after?.ids.find((id) => !written.has(id) && !state.parents.has(id));
  return missing === undefined ? null : { outcome: 'parent-not-found', id: missing };
}

function birth(job: NewJob, state: KnownState, written: ReadonlyMap<string, Decided>): Decided {
  const parents = [...new Set(job.after?.ids ?? [])].map((id) => ({
    id,
    standing: standingOf(id, state, written),
  }));
  const hasFailed = parents.some(({ standing }) => standing === 'failed');
  const policy = job.after?.onFailure ?? 'run';
  const waits = parents.some(({ standing }) => standing === 'live');
  const status =
    hasFailed && policy !== 'run'
      ? policy === 'bury'
        ? 'buried'
        : 'cancelled'
      : waits
        ? 'blocked'
        : 'pending';
  const row: Decided = {
    job,
    outcome: { outcome: 'created', id: job.id },
    status,
    edges: parents.map(({ id, standing }) => ({ parent: id, met: standing !== 'live' })),
    keys: [],
    isFollowed: false,
  };
  return { ...row, keys: keysOf(row) };
}

function standingOf(
  id: string,
  state: KnownState,
  written: ReadonlyMap<string, Decided>,
): 'live' | 'completed' | 'failed' {
  const inCall = written.get(id);
  if (inCall !== undefined)
    return inCall.status === 'pending' || inCall.status === 'blocked' ? 'live' : 'failed';
  const standing = state.parents.get(id);
  if (standing === 'live') return 'live';
  return standing === statusCode.completed ? 'completed' : 'failed';
}

/** A job that is final from birth keeps its idempotency key and its period, as one that ended later does. */
function keysOf({ job, status }: Decided): HeldKey[] {
  const keys: HeldKey[] = [];
  if (job.idempotency !== null) {
    const { key, inputHash } = job.idempotency;
    keys.push({ kind: keyKind.idempotency, key, job: job.id, periodMs: null, inputHash });
  }
  const isFinal = status === 'buried' || status === 'cancelled';
  if (job.unique !== null && !(isFinal && job.unique.scope !== 'period')) {
    const periodMs = job.unique.scope === 'period' ? job.unique.periodMs : null;
    keys.push({ kind: keyKind.unique, key: job.unique.key, job: job.id, periodMs, inputHash: null });
  }
  return keys;
}
