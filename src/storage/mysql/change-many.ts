/*
 * One change for many jobs, in one transaction: their rows are locked wherever they stand, then it is decided row by row
 * by what can't change any more, then written together.
 */
import type { JobStatus } from '../../core/job-status.js';
import type { StopRequest } from '../claimed-job.js';
import type { NewJob } from '../new-job.js';
import type { ControlChange, ControlOutcome, JobEdit } from '../settlement.js';
import { statusOfCode } from '../sql/status-codes.js';
import { Changes, carryOut } from './changes.js';
import { flag, stopCode } from './codes.js';
import type { Context } from './context.js';
import { retryPlaced } from './control.js';
import { holdLanesOf } from './line-lanes.js';
import { noMarks, writeMarks } from './marks.js';
import { addLanes, editBodies, moveWaiting, requestStops } from './queries/control.js';
import { insertReady, leavePlaces, type Placed } from './queries/places.js';
import { hexId } from './sql.js';
import { wakeQueues } from './wake.js';

export interface ManyChanges {
  readonly change: ControlChange;
  readonly ids: readonly string[];
  readonly status?: JobStatus;
}

export async function changeMany(context: Context, request: ManyChanges): Promise<ControlOutcome[]> {
  const { change, status } = request;
  // Ascending: of those that want one unique key the lowest id gets it.
  const ids = [...new Set(request.ids.map((id) => id.toLowerCase()))].sort();
  if (ids.length === 0) return [];
  const queue = change.kind === 'edit' ? change.edit.queue : undefined;
  const queueId = queue === undefined ? undefined : await context.queues.id(queue);
  const { outcomes, woken } = await context.main.transaction(`${change.kind} of many`, async (tx) => {
    const changes = await Changes.begin(context, tx);
    const placed = await changes.lock(ids);
    const jobs = ids.flatMap((id) => placed.get(id) ?? []);
    const open = status === undefined ? jobs : jobs.filter((job) => statusOf(job) === status);
    const answers = await changeOpen(changes, open, { change, queueId });
    const byJob = new Map(open.map(({ id }, index) => [id, answers[index]]));
    const answerOf = (id: string): ControlOutcome =>
      byJob.get(id) ?? (placed.has(id) ? 'not-allowed' : 'not-found');
    return { outcomes: new Map(ids.map((id) => [id, answerOf(id)])), woken: changes.wokenQueues };
  });
  await wakeQueues(context, woken);
  return request.ids.map((id) => outcomes.get(id.toLowerCase()) ?? 'not-found');
}

function changeOpen(
  changes: Changes,
  jobs: readonly Placed[],
  { change, queueId }: { change: ControlChange; queueId: number | undefined },
): Promise<ControlOutcome[]> {
  switch (change.kind) {
    case 'retry':
      return retryPlaced(changes, jobs);
    case 'edit':
      return editPlaced(changes, jobs, { edit: change.edit, queueId });
    default:
      return stopPlaced(changes, jobs, change.kind);
  }
}

async function stopPlaced(
  changes: Changes,
  jobs: readonly Placed[],
  request: StopRequest,
): Promise<ControlOutcome[]> {
  const running = jobs.filter(({ lease }) => lease !== null);
  const ending = jobs.filter(
    ({ lease, final }) => lease === null && (final === null || request === 'delete'),
  );
  if (running.length > 0)
    await changes.tx.send(
      requestStops(
        changes.context.t,
        running.map(({ id }) => hexId(id)),
        stopCode[request],
      ),
    );
  await changes.apply(ending.map((job) => carryOut(job, stopCode[request], null)));
  return jobs.map((job) => {
    if (job.lease !== null) return 'requested';
    return job.final !== null && request !== 'delete' ? 'already-final' : 'done';
  });
}

async function editPlaced(
  changes: Changes,
  jobs: readonly Placed[],
  { edit, queueId }: { edit: JobEdit; queueId: number | undefined },
): Promise<ControlOutcome[]> {
  const outcomes = jobs.map((job): ControlOutcome => {
    if (job.final !== null) return 'already-final';
    return job.place === 'ready' || (job.place === 'waiting' && edit.due === undefined)
      ? 'done'
      : 'not-allowed';
  });
  const edited = jobs.filter((_, index) => outcomes[index] === 'done');
  if (edited.length > 0) await writeEdit(changes, edited, { edit, queueId });
  return outcomes;
}

/** Pending ones leave their place and stand in the new one, of which the body and the marks tell as well. */
async function writeEdit(
  changes: Changes,
  jobs: readonly Placed[],
  { edit, queueId }: { edit: JobEdit; queueId: number | undefined },
): Promise<void> {
  const { t } = changes.context;
  const rnk = edit.priority === undefined ? undefined : 0 - edit.priority;
  const due = edit.due === undefined ? undefined : dueOf(edit.due, changes.nowMs);
  const ready = jobs
    .filter(({ place }) => place === 'ready')
    .map((job) => ({
      ...job,
      queueId: queueId ?? job.queueId,
      rnk: rnk ?? job.rnk,
      due: due ?? job.due,
      flags: due === undefined ? job.flags : job.flags | flag.marked,
    }));
  const marks = ready.map(({ id, line, due: dueMs, marks: before }) => ({
    id,
    marks: { ...(before ?? noMarks(dueMs, line)), line, due: dueMs, reason: null },
  }));
  const waiting = jobs.filter(({ place }) => place === 'waiting').map(({ id }) => hexId(id));
  changes.noteTouched(jobs.map(({ id }) => id));
  const moves = { queueId: queueId ?? null, rnk: rnk ?? null };
  const lanes = jobs.map((job) => ({ ...job, queueId: queueId ?? job.queueId, rnk: rnk ?? job.rnk }));
  await changes.tx.send(
    ...(queueId === undefined && rnk === undefined ? [] : addLanes(t, lanes)),
    ...(await holdLanesOf(changes, ready)),
    ...leavePlaces(
      t,
      jobs.filter(({ place }) => place === 'ready'),
    ),
    editBodies(
      t,
      jobs.map(({ id }) => hexId(id)),
      { ...edit, ...moves },
    ),
    ...(ready.length > 0 ? [insertReady(t, ready)] : []),
    ...(due !== undefined && marks.length > 0 ? [writeMarks(t, marks)] : []),
    ...(waiting.length > 0 ? [moveWaiting(t, waiting, moves)] : []),
  );
  for (const job of ready) changes.wake(job.queueId);
}

function dueOf(due: NewJob['due'], nowMs: number): number {
  return Math.round('atMs' in due ? due.atMs : nowMs + due.inMs);
}

function statusOf({ place, final }: Placed): JobStatus {
  if (final !== null) return statusOfCode[final.status] ?? 'completed';
  return place === 'leases' ? 'processing' : place === 'waiting' ? 'blocked' : 'pending';
}
