import { bytesToUuid } from '../../internal/uuid.js';
import type { ClaimedJob, ClaimRequest } from '../claimed-job.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import { ensureAloneLanes } from './alone-lanes.js';
import { type Change, Changes, carryOut, marksAfterLease } from './changes.js';
import { chunksBySize } from './chunks.js';
import { claim, claimBehind } from './claims.js';
import { aloneLine, flag } from './codes.js';
import type { Context } from './context.js';
import { isCountMismatch, isDuplicateRow } from './errors.js';
import type { Marks } from './marks.js';
import type { Placed } from './queries/places.js';
import { type Completion, completeStatements, readFacts } from './queries/settle.js';
import { wakeQueues } from './wake.js';

/**
 * Plain: all of them complete, each id once. One packet; whatever it refuses goes the followed way, row by row.
 */
export async function settle(context: Context, settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
  const outcomes: SettleOutcome[] = [];
  for (const chunk of chunksBySize(context, settlements, sizeOf)) {
    outcomes.push(...(await settleChunk(context, chunk)));
  }
  return outcomes;
}

export async function exchange(
  context: Context,
  settlements: readonly Settlement[],
  request: ClaimRequest,
): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
  const completions = await plainCompletions(context, settlements);
  if (completions === undefined || chunksBySize(context, settlements, sizeOf).length !== 1) {
    const settled = await settle(context, settlements);
    return { settled, claimed: await claim(context, request) };
  }
  try {
    const complete = completeStatements(context.t, completions, context.now());
    const claimed = await claimBehind(context, request, complete);
    forgetSettled(context, completions);
    return { settled: settlements.map(() => 'done'), claimed };
  } catch (error) {
    if (!isCountMismatch(error) && !isDuplicateRow(error)) throw error;
    const settled = await settleFollowed(context, settlements);
    return { settled, claimed: await claim(context, request) };
  }
}

async function settleChunk(context: Context, settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
  const completions = await plainCompletions(context, settlements);
  if (completions === undefined) return settleMixed(context, settlements);
  try {
    await context.main.sendTransaction('settle', completeStatements(context.t, completions, context.now()));
    forgetSettled(context, completions);
    return settlements.map(() => 'done');
  } catch (error) {
    if (!isCountMismatch(error) && !isDuplicateRow(error)) throw error;
    return settleFollowed(context, settlements);
  }
}

/** A slot that is free again lets others run: who waits here is told. */
function forgetSettled(context: Context, completions: readonly Completion[]): void {
  let isSlotFree = false;
  for (const { id, facts } of completions) {
    context.held.drop(id, facts.token);
    isSlotFree ||= (facts.flags & flag.slotted) !== 0;
  }
  // A limit holds over queues.
  if (isSlotFree) context.notifier.wake(null);
}

/** Completions of jobs that end otherwise need not go the long way with those. */
async function settleMixed(context: Context, settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
  const ids = new Set(settlements.map(({ id }) => id));
  const plain = settlements.filter(({ kind }) => kind === 'completed');
  if (ids.size < settlements.length || plain.length === 0 || plain.length === settlements.length) {
    return settleFollowed(context, settlements);
  }
  const others = settlements.filter(({ kind }) => kind !== 'completed');
  const plainOutcomes = (await settleChunk(context, plain)).values();
  const otherOutcomes = (await settleFollowed(context, others)).values();
  return settlements.map(
    ({ kind }) => (kind === 'completed' ? plainOutcomes : otherOutcomes).next().value ?? 'lease-lost',
  );
}

/** Undefined when these can't go the plain way. */
async function plainCompletions(
  context: Context,
  settlements: readonly Settlement[],
): Promise<Completion[] | undefined> {
  if (settlements.length === 0) return undefined;
  const ids = new Set<string>();
  const completions: Completion[] = [];
  const unknown: string[] = [];
  for (const settlement of settlements) {
    if (settlement.kind !== 'completed' || ids.has(settlement.id)) return undefined;
    ids.add(settlement.id);
    if (context.held.get(settlement.id, settlement.token) === undefined) unknown.push(settlement.id);
  }
  if (unknown.length > 0) await recall(context, unknown);
  for (const settlement of settlements) {
    const facts = context.held.get(settlement.id, settlement.token);
    if (facts === undefined || settlement.kind !== 'completed') return undefined;
    const { id, result, outcome } = settlement;
    completions.push({ id, facts, result, isSkipped: outcome === 'skipped' });
  }
  return completions;
}

/** Reads the facts of leases that another process (or this one, long ago) claimed. */
async function recall(context: Context, ids: readonly string[]): Promise<void> {
  const [result] = await context.main.send('reading leases', readFacts(context.t, ids));
  for (const row of result?.rows ?? []) {
    const [id, token, queueId, nameId, due, claimedAt, workerId, flags, retentionMs] = row as [
      Buffer,
      Buffer,
      number,
      number,
      number,
      number,
      number,
      number,
      number | null,
    ];
    const facts = {
      token: token.toString('hex'),
      queueId,
      nameId,
      due,
      claimedAt,
      workerId,
      flags,
      retentionMs,
    };
    context.held.keep(bytesToUuid(id), facts);
  }
}

/** Lock, read, decide, apply: one transaction for all, row by row inside it. */
export async function settleFollowed(
  context: Context,
  settlements: readonly Settlement[],
): Promise<SettleOutcome[]> {
  if (settlements.length === 0) return [];
  const alone = settlements.filter((settlement) => settlement.kind === 'died' && settlement.alone);
  await ensureAloneLanes(
    context,
    alone.map(({ id }) => id),
  );
  const { outcomes, woken } = await context.main.transaction('settle', async (tx) => {
    const changes = await Changes.begin(context, tx);
    const placed = await changes.lock(settlements.map(({ id }) => id));
    const verdicts = judge(settlements, placed, changes.nowMs);
    await changes.apply(verdicts.changes);
    return { outcomes: verdicts.outcomes, woken: changes.wokenQueues };
  });
  for (const { id, token } of settlements) context.held.drop(id, token);
  await wakeQueues(context, woken);
  return outcomes;
}

/** In order: a later one of the same job sees what an earlier one did. */
function judge(
  settlements: readonly Settlement[],
  placed: ReadonlyMap<string, Placed>,
  nowMs: number,
): { outcomes: SettleOutcome[]; changes: Change[] } {
  const made = new Map<string, Change>();
  const outcomes = settlements.map((settlement): SettleOutcome => {
    const id = settlement.id.toLowerCase();
    const token = settlement.token.toLowerCase();
    const earlier = made.get(id);
    if (earlier !== undefined) return afterEarlier(earlier, token);
    const job = placed.get(id);
    if (job === undefined) return 'already-final';
    if (job.final !== null) return job.final.token === token ? 'done' : 'already-final';
    if (job.lease?.token !== token) return 'lease-lost';
    made.set(id, changeFor(job, settlement, nowMs));
    return 'done';
  });
  return { outcomes, changes: [...made.values()] };
}

function afterEarlier(earlier: Change, token: string): SettleOutcome {
  if (earlier.to === 'gone') return 'already-final';
  if (earlier.to === 'ready') return 'lease-lost';
  return earlier.token === token ? 'done' : 'already-final';
}

function changeFor(job: Placed, settlement: Settlement, nowMs: number): Change {
  const token = settlement.token.toLowerCase();
  const stop = job.lease?.stop ?? 0;
  const marks = marksAfterLease(job, whatItDid(job, settlement));
  if (stop !== 0 && settlement.kind !== 'completed') return carryOut(job, stop, token, marks);
  switch (settlement.kind) {
    case 'completed':
      return {
        to: 'final',
        job,
        status: 'completed',
        reason: null,
        token,
        result: settlement.result,
        isSkipped: settlement.outcome === 'skipped',
      };
    case 'buried':
      return { to: 'final', job, status: 'buried', reason: settlement.reason, token, marks };
    case 'cancelled':
      return { to: 'final', job, status: 'cancelled', reason: settlement.reason, token };
    case 'retry':
    case 'snoozed':
      return { to: 'ready', job, marks: { ...marks, due: nowMs + settlement.delayMs } };
    case 'died': {
      const line = settlement.alone ? { line: aloneLine } : {};
      return { to: 'ready', job, marks: { ...marks, ...line, due: nowMs + settlement.delayMs } };
    }
    case 'put-back': {
      // Without a delay it keeps its place in the line.
      const due = settlement.delayMs > 0 ? nowMs + settlement.delayMs : job.due;
      return { to: 'ready', job, marks: { ...marks, due, reason: settlement.reason } };
    }
  }
}

/** What the attempt did to the job, whatever becomes of it. */
function whatItDid({ marks }: Placed, settlement: Settlement): Partial<Marks> {
  switch (settlement.kind) {
    case 'retry':
      return { attempts: (marks?.attempts ?? 0) + 1, errors: settlement.errors };
    case 'died':
      return { deaths: (marks?.deaths ?? 0) + 1, errors: settlement.errors };
    case 'buried':
      return settlement.reason === 'poison'
        ? { deaths: (marks?.deaths ?? 0) + 1, errors: settlement.errors }
        : { attempts: (marks?.attempts ?? 0) + 1, errors: settlement.errors };
    default:
      return {};
  }
}

/** Bytes that a settlement adds to a packet: hex doubles a text, UTF-8 may treble it before. */
function sizeOf(settlement: Settlement): number {
  if (settlement.kind === 'completed') return textBytes(settlement.result);
  return 'errors' in settlement ? textBytes(settlement.errors) : 0;
}

const textBytes = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text) * 2);
