/**
 * Which jobs a take gets, where some of them stand under limits, budgets or labels. What the lines hold and what runs is
 * read by the engine, under its locks; the choice is made here, so that it is the same everywhere.
 *
 * Queue after queue. Within a queue the first job that can run goes first: by priority, then due time, then id. Where
 * that job is one of a group, the group's place goes to the key that was served longest ago, of those that have a job
 * that can run at this priority; of two never served, to the one whose first job stands earlier. A line without room is
 * passed over whole.
 *
 * A job that may not wait in a buffer ends the take where it would not be started.
 */
import { hasRoom, type KeyOccupancy, type Room, takeRoom } from './occupancy.js';

/** A job that is due and fits the take. */
export interface Candidate {
  readonly id: string;
  readonly priority: number;
  readonly dueAtMs: number;
}

/** The jobs of one line in one queue. */
export interface LineOfJobs<Job extends Candidate> {
  /** In claim order; as many as the take could use, read no further than it does. */
  readonly jobs: Iterable<Job>;
  /** Fewer were read, and there may be more, of the same priority: the choice ends where the next of them might go. */
  readonly isCut?: boolean;
  readonly room: Room;
  readonly group: string | null;
  /** Ordinary jobs of a queue without a budget. */
  readonly mayWait: boolean;
}

export interface Chosen<Job> {
  readonly job: Job;
  readonly started: boolean;
}

interface Head<Job extends Candidate> {
  readonly line: LineOfJobs<Job>;
  readonly rest: Iterator<Job>;
  job: Job;
  /** Its last job was chosen, and what comes after that was not read. */
  isOver: boolean;
}

/** Of these queues' lines, in order. Takes the room of what it chooses. */
export function chooseJobs<Job extends Candidate>(
  take: { readonly limit: number; readonly start: number },
  queues: Iterable<readonly LineOfJobs<Job>[]>,
): Chosen<Job>[] {
  const chosen: Chosen<Job>[] = [];
  for (const lines of queues) {
    const heads = lines.flatMap((line) => headOf(line));
    while (chosen.length < take.limit) {
      const head = nextHead(heads);
      if (head === null) break;
      if (head.isOver) return chosen;
      const started = chosen.length < take.start;
      if (!started && !head.line.mayWait) return chosen;
      chosen.push({ job: head.job, started });
      takeRoom(head.line.room, 'taken');
      advance(heads, head);
    }
    if (chosen.length >= take.limit) break;
  }
  return chosen;
}

export function inClaimOrder(a: Candidate, b: Candidate): number {
  return b.priority - a.priority || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

function headOf<Job extends Candidate>(line: LineOfJobs<Job>): Head<Job>[] {
  const rest = line.jobs[Symbol.iterator]();
  const first = rest.next();
  return first.done === true ? [] : [{ line, rest, job: first.value, isOver: false }];
}

function advance<Job extends Candidate>(heads: Head<Job>[], head: Head<Job>): void {
  const next = head.rest.next();
  if (next.done !== true) head.job = next.value;
  else if (head.line.isCut === true) head.isOver = true;
  else heads.splice(heads.indexOf(head), 1);
}

function nextHead<Job extends Candidate>(heads: Head<Job>[]): Head<Job> | null {
  let first: Head<Job> | null = null;
  let kept = 0;
  for (const head of heads) {
    // Room only gets less: a line without any is out for good.
    if (!hasRoom(head.line.room)) continue;
    heads[kept] = head;
    kept += 1;
    if (first === null || inClaimOrder(head.job, first.job) < 0) first = head;
  }
  heads.length = kept;
  return first === null || first.line.group === null ? first : whoseTurn(heads, first);
}

function whoseTurn<Job extends Candidate>(heads: readonly Head<Job>[], first: Head<Job>): Head<Job> {
  let best = first;
  for (const head of heads) {
    if (head.line.group !== first.line.group || head.job.priority !== first.job.priority) continue;
    const turns = turnOf(head) - turnOf(best);
    if (turns < 0 || (turns === 0 && inClaimOrder(head.job, best.job) < 0)) best = head;
  }
  return best;
}

const turnOf = ({ line }: Head<Candidate>): number => (line.room.key as KeyOccupancy | null)?.turn ?? 0;
