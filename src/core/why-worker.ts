/*
 * Why a worker gets no work, or gets it: what is known of it, of the queues it serves and of what waits there in, reasons
 * out. What keeps everything from it stands first (gone, silent, draining), then what keeps some (a paused queue, a
 * missing handler), and where nothing does, that is said too.
 */
import { spell } from './spell-duration.js';

/** Every reason there is, with what it means in general. */
export const workerReasonCodes = {
  'said-goodbye': 'It has stopped.',
  silent: 'It has not been heard of for so long that it counts as offline, or soon will.',
  'starting-up': 'It is not registered or its lanes are not up yet.',
  'link-lost': 'It cannot reach the database at the moment.',
  draining: 'It takes nothing more and ends.',
  'drained-by-operator': 'An operator drained it.',
  'on-standby': 'It takes only what no active worker has taken.',
  'recycle-wanted': 'It is to make room for a fresh process, and waits for its turn.',
  'loop-blocked': 'Its main loop stands still for long times.',
  'no-handlers': 'It knows no jobs.',
  'lanes-unwell': 'Lanes of it are not well.',
  'slots-overrun':
    'It counts more jobs as running than it has anything to run them in: report it, and recycle it.',
  'polls-alone': 'Wake-ups do not reach it, so that each job starts up to a poll late.',
  'own-memory': 'Its process is near what it may use, and nothing makes room for a fresh one.',
  'disk-full': 'Its browser lanes take no jobs, since the disk they write on is full.',
  'slots-full': 'Every slot of it is busy.',
  'queues-paused': 'Queues that it serves are paused.',
  'nothing-due': 'Nothing is due in the queues that it serves.',
  'no-handler': 'Jobs wait in its queues for which it has no handler.',
  'lane-missing': 'Jobs wait that run in a lane of a kind that it does not have.',
  'not-admitted': 'Jobs of some names do not start on it for now.',
  'takes-work': 'Nothing stands in its way.',
} as const;

export type WorkerReasonCode = keyof typeof workerReasonCodes;

export interface WorkerReason {
  readonly code: WorkerReasonCode;
  readonly sentence: string;
  readonly numbers: Readonly<Record<string, number>>;
}

export interface WhyWorkerFacts {
  readonly worker: {
    readonly alive: boolean;
    readonly isStale: boolean;
    readonly gone: boolean;
    readonly state: string;
    /** Of its last change of state. */
    readonly stateReason: string | null;
    readonly adminState: 'active' | 'drain' | 'standby';
    readonly recycleAsked: boolean;
    readonly silentForMs: number;
    readonly loopLagMs: number;
    readonly drain: { readonly reason: string; readonly owner: string } | null;
    readonly handlers: readonly string[];
    readonly lanes: readonly {
      readonly kind: string;
      readonly number: number;
      readonly state: string;
      readonly width: number;
      readonly running: number;
      readonly note: string | null;
    }[];
    /** Names whose jobs need a kind of lane that it lacks, by name. */
    readonly withoutLane: Readonly<Record<string, string>>;
    /** Names whose jobs are not admitted for now, with why. */
    readonly notAdmitted: Readonly<Record<string, string>>;
    /** What it says is wrong with it, by the code of the reason. */
    readonly alarms: Readonly<Record<string, string>>;
    /** How it found its jobs when it had none: by wake-ups, at their time, by the poll; null: it does not say. */
    readonly found: { readonly push: number; readonly due: number; readonly poll: number } | null;
  };
  /** Those that it serves. */
  readonly queues: readonly {
    readonly queue: string;
    readonly paused: boolean;
    readonly claimable: number;
    /** Names of some jobs that are due there, the first of the line. */
    readonly dueNames: readonly string[];
  }[];
}

const namesShown = 5;
/** As the log does: shorter blocks are ordinary. */
const blockedMs = 1_000;

/** Never empty; the one to look at first stands first. */
export function whyWorkerReasons(facts: WhyWorkerFacts): WorkerReason[] {
  const absent = absenceReasons(facts);
  if (absent.length > 0) return absent;
  const reasons = [...willReasons(facts), ...abilityReasons(facts), ...workReasons(facts)];
  const isFree = reasons.every(({ code }) => mildCodes.has(code));
  return isFree ? [...reasons, takesWork(facts)] : reasons;
}

/** They keep some jobs from it, not all. */
const alarmCodes = ['slots-overrun', 'polls-alone', 'own-memory', 'disk-full'] as const;
const mildCodes: ReadonlySet<WorkerReasonCode> = new Set([
  'recycle-wanted',
  'loop-blocked',
  'lanes-unwell',
  ...alarmCodes,
]);

function absenceReasons({ worker }: WhyWorkerFacts): WorkerReason[] {
  const { gone, alive, isStale, silentForMs } = worker;
  const numbers = { silentForMs };
  if (gone)
    return [reason('said-goodbye', `It said goodbye ${spell(silentForMs)} ago. Start it again.`, numbers)];
  if (alive && !isStale) return [];
  const word = alive ? 'Three heartbeats are missing' : 'It counts as offline';
  const sentence = `It has not been heard of for ${spell(silentForMs)}. ${word}: look whether its process lives and can reach the database.`;
  return [reason('silent', sentence, numbers)];
}

/** What it or its operators want. */
function willReasons({ worker }: WhyWorkerFacts): WorkerReason[] {
  const { state, adminState, drain, recycleAsked, stateReason } = worker;
  const because = stateReason === null ? '' : ` (${stateReason})`;
  const reasons: WorkerReason[] = [];
  if (state === 'STARTING' || state === 'REGISTER') {
    reasons.push(reason('starting-up', `It is in state ${state}${because}.`));
  } else if (state === 'RECONNECTING') {
    reasons.push(
      reason(
        'link-lost',
        `It cannot reach the database${because}; what it runs goes on, and it tries for ever.`,
      ),
    );
  } else if ((state === 'DRAINING' || state === 'EXIT') && drain?.reason !== 'operator-drain') {
    const why = drain === null ? '' : `: ${drain.reason}, by ${drain.owner}`;
    reasons.push(reason('draining', `It takes nothing more and ends when what it runs has ended${why}.`));
  }
  if (adminState === 'drain') {
    reasons.push(
      reason(
        'drained-by-operator',
        'An operator drained it. To let it take jobs: millrace worker activate <id>.',
      ),
    );
  } else if (adminState === 'standby') {
    reasons.push(
      reason(
        'on-standby',
        'It is on standby: it takes only what has been due for two polls. To let it take everything: millrace worker activate <id>.',
      ),
    );
  }
  if (recycleAsked && state === 'RUNNING')
    reasons.push(reason('recycle-wanted', 'It is to recycle, and waits for its turn.'));
  return reasons;
}

/** What it could do. */
function abilityReasons({ worker }: WhyWorkerFacts): WorkerReason[] {
  const { handlers, lanes, loopLagMs } = worker;
  const reasons: WorkerReason[] = [];
  if (handlers.length === 0)
    reasons.push(
      reason('no-handlers', 'It knows no jobs: list them in its config, or pass them to its client.'),
    );
  const slots = sum(lanes.map(({ width }) => width));
  const running = sum(lanes.map((lane) => lane.running));
  if (slots > 0 && running >= slots)
    reasons.push(reason('slots-full', `All ${slots} of its slots are busy.`, { slots, running }));
  if (loopLagMs >= blockedMs) {
    const sentence = `Its main loop stood still for ${spell(loopLagMs)} lately: a handler blocks it. Its log names the code.`;
    reasons.push(reason('loop-blocked', sentence, { loopLagMs }));
  }
  const unwell = lanes.filter(({ note }) => note !== null);
  if (unwell.length > 0) {
    const told = unwell.map(
      ({ kind, number, note }) => `${kind}${number === 0 ? '' : ` lane ${number}`}: ${note}`,
    );
    const quarantined = lanes.filter(({ state }) => state === 'quarantined').length;
    reasons.push(reason('lanes-unwell', `${told.join('; ')}.`, { lanes: unwell.length, quarantined }));
  }
  for (const code of alarmCodes) {
    const told = worker.alarms[code];
    if (told !== undefined) reasons.push(reason(code, `${alarmFix[code]}: ${told}.`, foundNumbers(worker)));
  }
  return reasons;
}

const alarmFix: Readonly<Record<(typeof alarmCodes)[number], string>> = {
  'slots-overrun':
    'A slot of it is lost; recycle it (millrace worker recycle <id>), and report what its log says',
  'polls-alone':
    'Wake-ups do not reach it; look at its connection for LISTEN (a pooler in transaction mode has none), or at the folder of its SQLite file',
  'own-memory': 'Start its program anew, or give it more memory',
  'disk-full': 'Free space on it, and its lanes take jobs again by themselves',
};

function foundNumbers({ found }: WhyWorkerFacts['worker']): Record<string, number> {
  if (found === null) return {};
  return { foundByPush: found.push, foundWhenDue: found.due, foundByPoll: found.poll };
}

/** What waits for it. */
function workReasons({ worker, queues }: WhyWorkerFacts): WorkerReason[] {
  const paused = queues.filter((queue) => queue.paused).map(({ queue }) => queue);
  const due = sum(queues.map(({ claimable }) => claimable));
  const reasons: WorkerReason[] = [];
  if (paused.length > 0) {
    const sentence = `Paused are: ${listed(paused)}. To let jobs of one go: millrace resume <queue>.`;
    reasons.push(reason('queues-paused', sentence, { paused: paused.length, queues: queues.length }));
  }
  const names = [...new Set(queues.flatMap(({ dueNames }) => dueNames))];
  if (due === 0)
    return [
      ...reasons,
      reason('nothing-due', 'Nothing is due in the queues that it serves.', { queues: queues.length }),
    ];
  const known = names.filter((name) => worker.handlers.includes(name));
  const isBarred = (name: string): boolean =>
    Object.hasOwn(worker.withoutLane, name) || Object.hasOwn(worker.notAdmitted, name);
  if (names.length === 0 || known.some((name) => !isBarred(name))) return reasons;
  const numbers = { due, names: names.length };
  if (known.length === 0 && worker.handlers.length > 0) {
    const sentence = `It has no handler for what waits first in its queues: ${listed(names)}.`;
    reasons.push(reason('no-handler', sentence, numbers));
  }
  const laneless = known.filter((name) => Object.hasOwn(worker.withoutLane, name));
  if (laneless.length > 0) {
    const told = laneless.map((name) => `${name} (${worker.withoutLane[name]})`);
    reasons.push(reason('lane-missing', `It has no lane that works for: ${listed(told)}.`, numbers));
  }
  const denied = known.filter((name) => Object.hasOwn(worker.notAdmitted, name));
  if (denied.length > 0) {
    const told = denied.map((name) => `${name} (${worker.notAdmitted[name]})`);
    reasons.push(reason('not-admitted', `It does not start for now: ${listed(told)}.`, numbers));
  }
  return reasons;
}

function takesWork({ worker, queues }: WhyWorkerFacts): WorkerReason {
  const due = sum(queues.map(({ claimable }) => claimable));
  const slots = sum(worker.lanes.map(({ width }) => width));
  const running = sum(worker.lanes.map((lane) => lane.running));
  const sentence = `Nothing stands in its way: ${due} due in its queues, ${running} of its ${slots} slots busy.`;
  return reason('takes-work', sentence, { due, slots, running, ...foundNumbers(worker) });
}

function reason(
  code: WorkerReasonCode,
  sentence: string,
  numbers: Readonly<Record<string, number>> = {},
): WorkerReason {
  return { code, sentence, numbers };
}

function listed(texts: readonly string[]): string {
  const more = texts.length - namesShown;
  return more <= 0 ? texts.join(', ') : `${texts.slice(0, namesShown).join(', ')} and ${more} more`;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
