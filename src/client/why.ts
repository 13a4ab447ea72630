import { whyReasons } from '../core/why.js';
import type { Reason, ReasonCode, WhyFacts, WhyJob } from '../core/why-facts.js';
import { parseFailures } from '../internal/failure.js';
import type { SettingValues } from '../internal/settings.js';
import type { JobRecord } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import type { WorkerRecord } from '../storage/worker-record.js';
import { parseJobId } from './control.js';
import { surroundingsOf } from './job-surroundings.js';
import { type Job, type JobSurroundings, toJob } from './job-view.js';
import type { JobProgress } from './progress-watcher.js';
import { boundsOf } from './why-bounds.js';
import { textsOf } from './why-worker.js';
import { toWorkerListing } from './worker-view.js';

/** One reason why a job is where it is. */
export interface WhyReason {
  /** What kind of reason; every kind stands in the guide. */
  readonly code: ReasonCode;
  readonly sentence: string;
  /** What the sentence says in numbers; lengths of time in ms. */
  readonly numbers: Readonly<Record<string, number>>;
  /** The next moment at which this can change by itself, by the database's clock; null where nobody can know. */
  readonly nextChangeAt: Date | null;
}

export interface Why {
  readonly job: Job;
  /** The one to look at first stands first; never empty. */
  readonly reasons: readonly WhyReason[];
}

const dayMs = 86_400_000;
const longestMessage = 300;

/** What is known of the job, its queue and the workers at this moment, read one after the other. */
export async function explain(storage: Storage, id: string, settings: SettingValues): Promise<Why | null> {
  const record = await storage.job(parseJobId(id));
  if (record === null) return null;
  const surroundings = await surroundingsOf(storage, record);
  const reasons = whyReasons(await factsOf(storage, record, { settings, ...surroundings }));
  return { job: toJob(record, surroundings), reasons: reasons.map(toWhyReason) };
}

function toWhyReason({ code, sentence, numbers, nextChangeAtMs }: Reason): WhyReason {
  return { code, sentence, numbers, nextChangeAt: nextChangeAtMs === null ? null : new Date(nextChangeAtMs) };
}

async function factsOf(
  storage: Storage,
  record: JobRecord,
  { settings, progress, failedParents }: JobSurroundings & { readonly settings: SettingValues },
): Promise<WhyFacts> {
  const workers = await storage.workers();
  const holder = workers.find(({ id }) => id === record.workerId);
  return {
    nowMs: await storage.now(),
    job: whyJob(record),
    bounds: await boundsOf(storage, record, settings),
    isQueuePaused: record.status === 'pending' && (await storage.pausedQueues()).includes(record.queue),
    waitsFor: await parentsOf(storage, record),
    failedParents,
    ahead: record.status === 'pending' ? await storage.ahead(record.id) : null,
    workers: workers.flatMap((worker) => liveWorker(worker, settings)),
    holderSilentForMs: holder?.silentForMs ?? null,
    progress: progress === null ? null : factOf(progress),
    keptForMs: record.status === 'buried' ? null : (record.retentionMs ?? settings.retentionDays * dayMs),
  };
}

function whyJob(record: JobRecord): WhyJob {
  const last = parseFailures(record.errors).at(-1);
  return {
    ...record,
    isStarted: record.started,
    lastFailure:
      last === undefined ? null : { attempt: last.attempt, atMs: last.at, message: shortened(last.error) },
  };
}

function factOf({ done, total, note }: JobProgress): NonNullable<WhyFacts['progress']> {
  return { done, total: total ?? null, note: note ?? null };
}

/** A message may have 8 KB; the whole of it stands in the job. */
function shortened({ name, message }: { name: string; message: string }): string {
  const text = `${name}: ${message}`;
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage)}…`;
}

function liveWorker(worker: WorkerRecord, settings: SettingValues): WhyFacts['workers'] {
  if (toWorkerListing(worker, settings).status === 'offline') return [];
  const { id, queues, handlers, labels, concurrency, running, state, adminState, details } = worker;
  const isDraining = adminState === 'drain' || state === 'DRAINING' || state === 'EXIT';
  return [
    {
      id,
      queues,
      handlers,
      labels,
      concurrency,
      running,
      isDraining,
      isStandby: adminState === 'standby',
      withoutLane: textsOf(details['withoutLane']),
      laneAilments: ailmentsOf(worker),
      notAdmitted: textsOf(details['notAdmitted']),
    },
  ];
}

/** The first quarantined lane of each kind speaks for the others; of its note the first line. */
function ailmentsOf({ lanes }: WorkerRecord): Record<string, string> {
  const ailing = lanes
    .filter(({ state, note }) => (state === 'quarantined' || state === 'shut') && note !== null)
    .reverse();
  return Object.fromEntries(
    ailing.map(({ kind, number, note }) => [kind, `lane ${number}: ${(note ?? '').split('\n', 1)[0]}`]),
  );
}

async function parentsOf(storage: Storage, { waitsFor }: JobRecord): Promise<WhyFacts['waitsFor']> {
  if (waitsFor.length === 0) return [];
  const statuses = new Map((await storage.endings(waitsFor)).map(({ id, status }) => [id, status]));
  return waitsFor.map((id) => ({ id, status: statuses.get(id) ?? null }));
}
