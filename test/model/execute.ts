import { isMillraceError } from '../../src/internal/errors.js';
import type { ExpiredLease, JobEdit, TakeBack } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import { type FileOperation, isFileMethod, makeFileCall } from './file-operations.js';
import { type HubOperation, isHubMethod, makeHubCall } from './hub-operations.js';
import type { Operation, PlannedEdit, PlannedJob, PlannedTakeBack } from './operation.js';

/** Makes the call and answers what came of it, before it is made comparable. */
export async function execute(storage: Storage, operation: Operation, startMs: number): Promise<unknown> {
  try {
    return await call(storage, operation, startMs);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { threw: error.code };
  }
}

function call(storage: Storage, operation: Operation, startMs: number): Promise<unknown> {
  switch (operation.method) {
    case 'enqueue':
      return storage.enqueue(operation.jobs.map((job) => ({ ...job, due: dueOf(job, startMs) })));
    case 'claim':
      return storage.claim(operation.request);
    case 'settle':
      return storage.settle(operation.settlements);
    case 'exchange':
      return storage.exchange(operation.settlements, operation.request);
    case 'markStarted':
      return storage.markStarted(operation.leases);
    case 'renew':
      return storage.renew(operation.incarnation, operation.leaseMs);
    case 'held':
      return storage.held(operation.incarnation);
    case 'peek':
      return storage.peek(operation.request);
    case 'expired':
      return allExpired(storage, operation.expiredForMs, operation.limit);
    case 'takeBack':
      return takeBack(storage, operation.decisions);
    case 'retry':
    case 'bury':
    case 'cancel':
    case 'delete':
    case 'job':
    case 'ahead':
      return storage[operation.method](operation.id);
    case 'edit':
      return storage.edit(operation.id, editOf(operation.edit, startMs));
    case 'changeMany': {
      const { change, ids, status } = operation;
      return storage.changeMany({
        change: change.kind === 'edit' ? { kind: 'edit', edit: editOf(change.edit, startMs) } : change,
        ids,
        ...(status === null ? {} : { status }),
      });
    }
    case 'retryBuried': {
      const { queue, limit } = operation;
      return storage.retryBuried(queue === null ? { limit } : { queue, limit });
    }
    case 'setPaused':
      return storage.setPaused(operation.queue, operation.paused);
    case 'purge':
      return storage.purge({ ...operation, limit: 1_000 });
    case 'purgeTraces':
      return storage.purgeTraces({ ...operation, limit: 1_000 });
    case 'advance':
      return Promise.resolve();
    default:
      if (isHubOperation(operation)) return makeHubCall(storage, operation);
      if (isFileOperation(operation)) return makeFileCall(storage, operation);
      return look(storage, operation);
  }
}

const isFileOperation = (operation: Operation): operation is FileOperation => isFileMethod(operation.method);

const isHubOperation = (operation: Operation): operation is HubOperation => isHubMethod(operation.method);

function look(
  storage: Storage,
  operation: Exclude<Operation, HubOperation | FileOperation | { method: ChangingMethod }>,
): Promise<unknown> {
  switch (operation.method) {
    case 'jobs':
      return allJobs(storage, operation.filter, operation.limit);
    case 'endings':
      return storage.endings(operation.ids);
    case 'idsEndingIn':
      return storage.idsEndingIn(operation.suffix);
    case 'stats':
      return storage.stats(operation.queue ?? undefined);
    case 'appendLog':
      return storage.appendLog(operation.lines);
    case 'log':
      return allLines(storage, operation.id, operation.limit);
    case 'register':
      return storage.register(operation.report, operation.aliveMs);
    case 'heartbeat':
      return storage.heartbeat(operation.report);
    case 'unregister':
      return storage.unregister(operation.id, operation.incarnation);
    case 'orders':
      return storage.orders(operation.id);
    case 'changeWorker':
      return storage.changeWorker(operation.id, operation.change, operation.audit);
    case 'forgetSilent':
      return forgetAsSeen(storage, operation.id);
    case 'audit':
      return storage.audit({ limit: 1_000 });
    case 'takeDuty':
      return storage.takeDuty(operation.name, operation.holder, operation.ttlMs);
    case 'releaseDuty':
      return storage.releaseDuty(operation.name, operation.holder);
    case 'tidy':
      return storage.tidy(operation);
    case 'releaseBlocked':
      return storage.releaseBlocked(100);
    case 'watch':
      return watchBriefly(storage);
    case 'noteProfiles':
      return storage.noteProfiles(operation.notes);
    case 'profiles':
      return storage.profiles(operation.names, operation.windowMs);
    case 'limits':
    case 'queues':
    case 'pausedQueues':
    case 'workers':
    case 'now':
    case 'serverUptimeMs':
      return storage[operation.method]();
  }
}

async function forgetAsSeen(storage: Storage, id: string): Promise<boolean> {
  const seen = (await storage.workers()).find((worker) => worker.id === id);
  return storage.forgetSilent(id, seen?.heartbeatAtMs ?? 0);
}

type ChangingMethod =
  | 'enqueue'
  | 'claim'
  | 'settle'
  | 'exchange'
  | 'markStarted'
  | 'renew'
  | 'held'
  | 'peek'
  | 'expired'
  | 'takeBack'
  | 'retry'
  | 'bury'
  | 'cancel'
  | 'delete'
  | 'job'
  | 'ahead'
  | 'edit'
  | 'changeMany'
  | 'retryBuried'
  | 'setPaused'
  | 'purge'
  | 'purgeTraces'
  | 'advance';

function editOf({ due, ...edit }: PlannedEdit, startMs: number): JobEdit {
  return due === undefined ? edit : { ...edit, due: dueOf({ due }, startMs) };
}

function dueOf(job: Pick<PlannedJob, 'due'>, startMs: number): { inMs: number } | { atMs: number } {
  return 'inMs' in job.due ? job.due : { atMs: startMs + job.due.startPlusMs };
}

/** Each decision is told the lease end that this storage has for it. */
async function takeBack(storage: Storage, planned: readonly PlannedTakeBack[]): Promise<unknown> {
  const decisions: TakeBack[] = [];
  for (const { stale, ...decision } of planned) {
    const seenMs = (await storage.job(decision.id))?.leaseUntilMs ?? 0;
    decisions.push({ ...decision, leaseUntilMs: stale ? seenMs - 1 : seenMs } as TakeBack);
  }
  return storage.takeBack(decisions);
}

async function allExpired(storage: Storage, expiredForMs: number, limit: number): Promise<ExpiredLease[]> {
  const found: ExpiredLease[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? {} : { after: { leaseUntilMs: last.leaseUntilMs, id: last.id } };
    const page = await storage.expired({ expiredForMs, limit, ...after });
    found.push(...page);
    if (page.length < limit) return found;
  }
}

export async function allJobs(
  storage: Storage,
  filter: Parameters<Storage['jobs']>[0],
  limit: number,
): Promise<unknown[]> {
  const found: unknown[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Storage['jobs']>> = await storage.jobs(
      filter,
      cursor === null ? { limit } : { limit, cursor },
    );
    found.push(...page.jobs);
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

export async function allLines(storage: Storage, id: string, limit: number): Promise<unknown[]> {
  const found: Awaited<ReturnType<Storage['log']>> = [];
  for (;;) {
    const after = found.at(-1)?.cursor;
    const page = await storage.log(id, after === undefined ? { limit } : { limit, after });
    found.push(...page);
    if (page.length < limit) return found;
  }
}

async function watchBriefly(storage: Storage): Promise<void> {
  const watch = await storage.watch(() => undefined);
  await watch[Symbol.asyncDispose]();
}
