/**
 * Judges what workers wrote down about their jobs. Events come from several processes of one machine and are compared
 * by its clock. A job may be run again only when the worker before it has ended it, lost its lease or was killed.
 */

export type Verdict = 'completed' | 'retry' | 'buried' | 'cancelled' | 'snoozed' | 'put-back' | 'died';

export interface HistoryEvent {
  /** Ms of the machine's clock; of two events with the same time the one that stands first came first. */
  readonly at: number;
  readonly kind:
    | 'enqueued'
    /** A handler begins. */
    | 'started'
    /** A handler has returned or thrown. */
    | 'ended'
    /** Storage took the settlement. */
    | 'settled'
    /** Storage refused the settlement. */
    | 'refused'
    /** The worker found out that the lease is gone; what it still does counts for nothing. */
    | 'lease-lost'
    /** The worker is dead: whatever it ran runs no more. */
    | 'killed';
  readonly jobId?: string;
  readonly token?: string;
  readonly worker?: string;
  /** Of `settled`. */
  readonly verdict?: Verdict;
  /** Of `started`: until when the lease is sure to hold; without it as long as its worker lives. */
  readonly leaseUntil?: number;
}

export interface Violation {
  readonly rule:
    | 'lost job'
    | 'overlapping attempts'
    | 'second settlement of a lease'
    | 'second completion of a job'
    | 'second start of a lease'
    | 'completion without a run'
    | 'late settlement accepted'
    | 'unknown job';
  readonly jobId: string;
  readonly details: string;
}

interface Attempt {
  readonly token: string;
  readonly worker: string;
  readonly startedAt: number;
  readonly leaseUntil: number;
  ended: boolean;
  open: boolean;
}

interface JobHistory {
  enqueued: boolean;
  completions: number;
  final: boolean;
  readonly attempts: Map<string, Attempt>;
  readonly settledTokens: Set<string>;
}

export interface HistoryRules {
  /** Every job must have ended, one way or another. @default true */
  readonly allEnded?: boolean;
}

export function checkHistory(events: readonly HistoryEvent[], rules: HistoryRules = {}): Violation[] {
  const jobs = new Map<string, JobHistory>();
  const violations: Violation[] = [];
  const say = (rule: Violation['rule'], jobId: string, details: string): void => {
    violations.push({ rule, jobId, details });
  };
  const inOrder = events
    .map((event, index) => ({ event, index }))
    .sort((a, b) => a.event.at - b.event.at || a.index - b.index);
  for (const { event } of inOrder) {
    if (event.kind === 'killed') closeAttemptsOf(jobs, event.worker ?? '');
    else
      judge(jobOf(jobs, event.jobId ?? ''), event, (rule, details) => say(rule, event.jobId ?? '', details));
  }
  for (const [jobId, job] of jobs) {
    if (!job.enqueued) say('unknown job', jobId, 'it was never enqueued');
    else if (!job.final && rules.allEnded !== false)
      say('lost job', jobId, `${job.attempts.size} attempts, none ended it`);
  }
  return violations;
}

function judge(
  job: JobHistory,
  event: HistoryEvent,
  say: (rule: Violation['rule'], details: string) => void,
): void {
  const { token = '', worker = '', at } = event;
  const attempt = job.attempts.get(token);
  switch (event.kind) {
    case 'enqueued':
      job.enqueued = true;
      return;
    case 'started':
      if (attempt !== undefined) say('second start of a lease', `token ${token} at ${at}`);
      judgeOverlap(job, event, say);
      job.attempts.set(token, {
        token,
        worker,
        startedAt: at,
        leaseUntil: event.leaseUntil ?? Number.POSITIVE_INFINITY,
        ended: false,
        open: true,
      });
      return;
    case 'ended':
      if (attempt !== undefined) attempt.ended = true;
      if (attempt !== undefined) attempt.open = false;
      return;
    case 'lease-lost':
    case 'refused':
      if (attempt !== undefined) attempt.open = false;
      return;
    case 'settled':
      judgeSettlement(job, event, say);
      return;
    case 'killed':
  }
}

function judgeOverlap(
  job: JobHistory,
  { token = '', worker = '', at }: HistoryEvent,
  say: (rule: Violation['rule'], details: string) => void,
): void {
  for (const other of job.attempts.values()) {
    if (other.open && other.token !== token && other.leaseUntil >= at) {
      say(
        'overlapping attempts',
        `${worker} started at ${at} while ${other.worker} ran since ${other.startedAt}`,
      );
    }
  }
}

function judgeSettlement(
  job: JobHistory,
  { token = '', worker = '', at, verdict }: HistoryEvent,
  say: (rule: Violation['rule'], details: string) => void,
): void {
  const attempt = job.attempts.get(token);
  if (job.settledTokens.has(token))
    say('second settlement of a lease', `token ${token} at ${at} by ${worker}`);
  job.settledTokens.add(token);
  const isFinal = verdict === 'completed' || verdict === 'buried' || verdict === 'cancelled';
  if (!isFinal) return;
  job.final = true;
  for (const other of job.attempts.values()) {
    if (attempt !== undefined && other.startedAt > attempt.startedAt) {
      say(
        'late settlement accepted',
        `${worker} settled at ${at}, after ${other.worker} had started at ${other.startedAt}`,
      );
    }
  }
  if (verdict !== 'completed') return;
  job.completions += 1;
  if (job.completions > 1) say('second completion of a job', `token ${token} at ${at} by ${worker}`);
  if (attempt?.ended !== true) say('completion without a run', `token ${token} at ${at} by ${worker}`);
}

function closeAttemptsOf(jobs: ReadonlyMap<string, JobHistory>, worker: string): void {
  for (const job of jobs.values()) {
    for (const attempt of job.attempts.values()) if (attempt.worker === worker) attempt.open = false;
  }
}

function jobOf(jobs: Map<string, JobHistory>, jobId: string): JobHistory {
  const known = jobs.get(jobId);
  if (known !== undefined) return known;
  const job: JobHistory = {
    enqueued: false,
    completions: 0,
    final: false,
    attempts: new Map(),
    settledTokens: new Set(),
  };
  jobs.set(jobId, job);
  return job;
}
