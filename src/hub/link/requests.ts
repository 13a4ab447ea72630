/** What a welcomed worker asks for beside settling and heartbeats: each is a question to storage and its answer. */
import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { HubMessage } from '../../protocol/hub-messages.js';
import type { HelloMessage, WorkerMessage } from '../../protocol/worker-messages.js';
import { incarnationOf, type Take } from '../../storage/claimed-job.js';
import type { NewLogLine } from '../../storage/job-log.js';
import type { NewJob } from '../../storage/new-job.js';
import type { HubContext } from '../hub-context.js';
import type { FileQuestion } from './file-requests.js';
import type { LinkedWorker } from './linked-worker.js';

/** Those that are answered by asking storage alone. */
export type Question = Exclude<
  WorkerMessage,
  HelloMessage | FileQuestion | { type: 'settle' } | { type: 'beat' } | { type: 'turn' } | { type: 'goodbye' }
>;

const mostLogBatches = 4;

/** Null: it is not answered. Rejects as storage does. */
export async function answer(
  context: HubContext,
  worker: LinkedWorker,
  message: Question,
): Promise<HubMessage | null> {
  const { storage } = worker;
  switch (message.type) {
    case 'started': {
      const own = message.leases.filter(({ token }) => incarnationOf(token) === worker.incarnation);
      const foreign = message.leases.filter((lease) => !own.includes(lease)).map(({ id }) => id);
      const lost = own.length === 0 ? [] : await storage.markStarted(own);
      return { type: 'started-ack', re: message.id, lost: [...lost, ...foreign] };
    }
    case 'log':
      await keepLines(context, worker, message.lines);
      return null;
    case 'dispatch':
      return await dispatch(context, worker, message);
    case 'ask-profiles':
      return {
        type: 'profiles',
        re: message.id,
        profiles: await storage.profiles(message.names, message.windowMs),
      };
    case 'profile-notes':
      await storage.noteProfiles(message.notes);
      return null;
    case 'look':
      return { type: 'seen', re: message.id, ...(await look(context, worker, message.takes)) };
    case 'ask-queues':
      return { type: 'queues', re: message.id, queues: await storage.queues() };
    case 'ask-backlog':
      return { type: 'backlog', re: message.id, claimable: await backlog(worker, message) };
  }
}

/** They are dropped first: while storage is slow, nothing else waits for them. */
async function keepLines(
  { metrics }: HubContext,
  worker: LinkedWorker,
  lines: readonly NewLogLine[],
): Promise<void> {
  const own = lines.filter(({ token }) => incarnationOf(token) === worker.incarnation);
  metrics.droppedLogLines += lines.length - own.length;
  if (own.length === 0) return;
  if (worker.keepingLines >= mostLogBatches) {
    metrics.droppedLogLines += own.length;
    return;
  }
  worker.keepingLines += 1;
  try {
    await worker.storage.appendLog(own);
  } catch {
    // Counted; the worker does not wait for an answer, and no line is worth a second try.
    metrics.droppedLogLines += own.length;
  } finally {
    worker.keepingLines -= 1;
  }
}

async function dispatch(
  { settings }: HubContext,
  { storage }: LinkedWorker,
  { id, jobs }: Extract<Question, { type: 'dispatch' }>,
): Promise<HubMessage> {
  for (const job of jobs) checkJob(job, settings.maxPayloadBytes);
  const outcomes = jobs.length === 0 ? [] : await storage.enqueue(jobs);
  return {
    type: 'dispatched',
    re: id,
    outcomes: outcomes.map(({ outcome, id: jobId }) => ({ outcome, id: jobId })),
  };
}

/** What a client would have refused: a worker may be anybody's program. */
function checkJob({ name, payload }: NewJob, mostBytes: number): void {
  const bytes = Buffer.byteLength(payload);
  if (bytes > mostBytes) {
    throw new MillraceError(
      'payload-too-large',
      `the input of a job ${name} has ${bytes} bytes; at most ${mostBytes}`,
    );
  }
  try {
    JSON.parse(payload);
  } catch (cause) {
    throw new MillraceError(
      'payload-invalid',
      expectedGot({ what: `the input of a job ${name}`, expected: 'JSON text', got: payload }),
      { cause },
    );
  }
}

async function look(
  { settings }: HubContext,
  { storage, report }: LinkedWorker,
  takes: readonly Take[],
): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
  if (takes.length === 0) return { dueInMs: null, aloneDue: false };
  return await storage.peek({ takes, labels: report.labels, budgets: settings.budgets });
}

async function backlog(
  { storage }: LinkedWorker,
  { queues, except }: Extract<Question, { type: 'ask-backlog' }>,
): Promise<number> {
  const paused = new Set(await storage.pausedQueues());
  const isAsked = (queue: string): boolean =>
    !paused.has(queue) && !except.includes(queue) && (queues === null || queues.includes(queue));
  const stats = await storage.stats();
  return stats.reduce((sum, { queue, claimable }) => (isAsked(queue) ? sum + claimable : sum), 0);
}
