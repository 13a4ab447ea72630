import { isServed } from '../internal/queue-selection.js';
import { spell } from './spell-duration.js';
import { boundReasons, neverReasons } from './why-bounds.js';
import type { Reason, WhyFacts, WhyWorker } from './why-facts.js';

/** Of many parents so many are named. */
const parentsShown = 10;
/** `ahead` counts no further. */
const mostAhead = 10_000;
/** How soon a free worker takes a job at the latest: its poll, where no wake-up arrives. */
const pollMs = 1_000;

export function waitingReasons(facts: WhyFacts): Reason[] {
  return facts.job.status === 'blocked'
    ? [...parentReasons(facts), ...workerReasons(facts)]
    : [...pendingReasons(facts), ...lineReasons(facts)];
}

function parentReasons({ waitsFor }: WhyFacts): Reason[] {
  const numbers = { waitsFor: waitsFor.length };
  const reasons = waitsFor.slice(0, parentsShown).map(({ id, status }): Reason => {
    const state = status === null ? 'gone: the next sweep lets this one go' : status;
    return {
      code: 'waits-for',
      sentence: `It waits for job ${id}, which is ${state}.`,
      numbers,
      nextChangeAtMs: null,
    };
  });
  const more = waitsFor.length - parentsShown;
  if (more > 0)
    reasons.push({
      code: 'waits-for',
      sentence: `It waits for ${more} more jobs.`,
      numbers,
      nextChangeAtMs: null,
    });
  if (waitsFor.length > 0) return reasons;
  const sentence = 'All that it waited for has ended: it is released this moment, or by the next sweep.';
  return [{ code: 'waits-for', sentence, numbers, nextChangeAtMs: null }];
}

function pendingReasons({ job, nowMs, isQueuePaused }: WhyFacts): Reason[] {
  const dueInMs = job.dueAtMs - nowMs;
  const nextChangeAtMs = dueInMs > 0 ? job.dueAtMs : null;
  const reasons: Reason[] = [];
  if (isQueuePaused) {
    reasons.push({
      code: 'queue-paused',
      sentence: `Its queue "${job.queue}" is paused, until someone resumes it: "millrace resume ${job.queue}".`,
      numbers: {},
      nextChangeAtMs: null,
    });
  }
  if (dueInMs > 0) {
    const at = new Date(job.dueAtMs).toISOString();
    const sentence = `It is not due yet, but in ${spell(dueInMs)}, at ${at}.`;
    reasons.push({ code: 'not-due', sentence, numbers: { dueInMs }, nextChangeAtMs });
  }
  if (job.reason !== null) {
    reasons.push({
      ...putBackReason(job.reason),
      numbers: dueInMs > 0 ? { dueInMs } : {},
      nextChangeAtMs,
    });
  }
  if (job.attempts > 0) {
    const { attempts, maxAttempts, lastFailure } = job;
    const last = lastFailure === null ? '' : `, the last time with "${lastFailure.message}"`;
    reasons.push({
      code: 'failed-before',
      sentence: `It failed ${attempts} of ${maxAttempts} times${last}.`,
      numbers: { attempts, maxAttempts },
      nextChangeAtMs,
    });
  }
  return reasons;
}

function putBackReason(reason: string): Pick<Reason, 'code' | 'sentence'> {
  const [, code, text] = /^(payload-newer|not-admitted):? *(.*)$/s.exec(reason) ?? [];
  if (code === 'payload-newer') return { code, sentence: `It waits for a worker with newer code: ${text}.` };
  if (code === 'not-admitted') return { code, sentence: `A worker gave it back, uncharged: ${text}.` };
  return { code: 'put-back', sentence: `A worker gave it back, uncharged: ${reason}.` };
}

/** What stands between a job that is due and a slot. */
function lineReasons(facts: WhyFacts): Reason[] {
  const { job, nowMs, isQueuePaused } = facts;
  const obstacles = [...neverReasons(facts), ...workerReasons(facts)];
  const alone = job.alone ? [runsAlone(facts)] : [];
  if (obstacles.length > 0 || isQueuePaused || job.dueAtMs > nowMs) return [...obstacles, ...alone];
  const bounds = boundReasons(facts);
  return bounds.length > 0 ? [...alone, ...bounds] : [...alone, placeReason(facts)];
}

function runsAlone({ job: { deaths } }: WhyFacts): Reason {
  return {
    code: 'runs-alone',
    sentence: `It runs with nothing beside it, since ${deaths} ${deaths === 1 ? 'worker' : 'workers'} died under it: a worker takes it once its own other work has ended.`,
    numbers: { deaths },
    nextChangeAtMs: null,
  };
}

function placeReason(facts: WhyFacts): Reason {
  const { job, nowMs, ahead: before } = facts;
  const ahead = before ?? 0;
  const able = facts.workers.filter(
    (worker) => isTaking(worker) && couldRun(worker, facts) && hasLabels(worker, facts),
  );
  const slots = sum(able.map(({ concurrency }) => concurrency));
  const running = sum(able.map((worker) => worker.running));
  const numbers = { ahead, workers: able.length, slots, running };
  const who = `${count(able.length, 'worker')} that can run it ${able.length === 1 ? 'has' : 'have'} ${count(slots, 'slot')}, ${running} of them busy`;
  if (ahead > 0) {
    const many = ahead >= mostAhead ? `At least ${mostAhead}` : String(ahead);
    return {
      code: 'waiting-behind',
      sentence: `${many} due ${ahead === 1 ? 'job stands' : 'jobs stand'} before it in queue "${job.queue}"; ${who}.`,
      numbers,
      nextChangeAtMs: null,
    };
  }
  if (running >= slots) {
    const sentence = `It is the next of queue "${job.queue}" and waits for a slot; ${who}.`;
    return { code: 'slots-busy', sentence, numbers, nextChangeAtMs: null };
  }
  return {
    code: 'about-to-run',
    sentence: `Nothing stands in its way: it is the next of queue "${job.queue}", and ${who}. A queue that such a worker serves before this one may keep it busy.`,
    numbers,
    nextChangeAtMs: nowMs + pollMs,
  };
}

/** What is wrong with the workers, from the point of view of the job; nothing when one can take it. */
function workerReasons(facts: WhyFacts): Reason[] {
  const { workers, job } = facts;
  const live = workers.length;
  const reason = (code: Reason['code'], sentence: string, numbers: Record<string, number> = {}): Reason[] => [
    { code, sentence, numbers: { liveWorkers: live, ...numbers }, nextChangeAtMs: null },
  ];
  if (live === 0) return reason('no-live-worker', 'No worker is alive. Start one: "millrace work".');
  const knowing = workers.filter(({ handlers }) => handlers.includes(job.name)).length;
  const serving = workers.filter(({ queues }) => isServed(queues, job.queue)).length;
  const nobody = live === 1 ? 'The only live worker does not' : `None of the ${live} live workers`;
  const [has, serves] = live === 1 ? ['have', 'serve'] : ['has', 'serves'];
  const reasons = [
    ...(knowing > 0 ? [] : reason('no-worker-for-name', `${nobody} ${has} a handler "${job.name}".`)),
    ...(serving > 0
      ? []
      : reason(
          'no-worker-for-queue',
          `${nobody} ${serves} queue "${job.queue}"; served: ${servedQueues(workers)}.`,
        )),
  ];
  if (reasons.length > 0) return reasons;
  const able = workers.filter((worker) => couldRun(worker, facts));
  if (able.length === 0) {
    const sentence = `${count(knowing, 'live worker')} with a handler "${job.name}" and ${serving} that ${serving === 1 ? 'serves' : 'serve'} queue "${job.queue}": none does both.`;
    return reason('no-worker-for-both', sentence, { knowing, serving });
  }
  const fitting = able.filter((worker) => hasLabels(worker, facts));
  if (fitting.length === 0) {
    const labels = job.requires.join(',');
    const who = `${count(able.length, 'live worker')} with its handler and its queue`;
    const sentence = `It asks for the labels ${labels}, and of ${who} none has all of them. Start one: "millrace work --labels ${labels}".`;
    return reason('no-worker-for-labels', sentence, { able: able.length });
  }
  const bar = fitting.some(isTaking) ? laneReason(fitting.filter(isTaking), job.name) : null;
  if (bar !== null) return reason(bar.code, bar.sentence, { able: fitting.length });
  if (fitting.some(isTaking)) return [];
  const draining = fitting.filter(({ isDraining }) => isDraining).length;
  const standby = fitting.length - draining;
  const states = [
    ...(draining > 0 ? [`${draining} draining`] : []),
    ...(standby > 0 ? [`${standby} on standby`] : []),
  ];
  return reason(
    'workers-not-taking',
    `${count(fitting.length, 'live worker')} could run it, but ${fitting.length === 1 ? 'takes' : 'take'} no new jobs: ${states.join(', ')}.`,
    { able: fitting.length, draining, standby },
  );
}

/** What keeps every one of these workers, which take jobs, from starting it; null: one may. */
function laneReason(
  workers: readonly WhyWorker[],
  name: string,
): { readonly code: Reason['code']; readonly sentence: string } | null {
  const barred = workers.map(({ id, withoutLane, notAdmitted, laneAilments }) => {
    const kind = own(withoutLane, name);
    const denied = own(notAdmitted, name);
    if (kind === undefined && denied === undefined) return null;
    return { id, kind, denied, ailment: kind === undefined ? undefined : own(laneAilments, kind) };
  });
  const [first] = barred;
  if (first == null || barred.some((bar) => bar === null)) return null;
  const others = workers.length === 1 ? '' : `, nor can ${count(workers.length - 1, 'other')}`;
  if (first.denied !== undefined) {
    const sentence = `Worker ${first.id} does not start it for now${others}: ${first.denied}.`;
    return { code: 'not-admitted', sentence };
  }
  const hint = first.kind === 'browser' ? '. Start one that has: "millrace work --browser-lanes=auto".' : '.';
  const why = first.ailment === undefined ? hint : `: ${first.ailment}`;
  const sentence = `It runs in a ${first.kind} lane, and worker ${first.id} has none that takes work${others}${why}`;
  return { code: 'no-lane', sentence };
}

const own = (record: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

const couldRun = ({ handlers, queues }: WhyWorker, { job }: WhyFacts): boolean =>
  handlers.includes(job.name) && isServed(queues, job.queue);

const hasLabels = ({ labels }: WhyWorker, { job }: WhyFacts): boolean =>
  job.requires.every((label) => labels.includes(label));

const isTaking = ({ isDraining, isStandby }: WhyWorker): boolean => !isDraining && !isStandby;

function servedQueues(workers: readonly WhyWorker[]): string {
  const queues = [...new Set(workers.flatMap((worker) => worker.queues))].sort();
  return queues.length <= 5
    ? queues.join(', ')
    : `${queues.slice(0, 5).join(', ')} and ${queues.length - 5} more`;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
