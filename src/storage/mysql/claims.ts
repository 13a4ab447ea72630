/*
 * A claim goes the plain way, in one packet, while no job of a line stands in its queues and no budget is named for them;
 * the packet itself says where that is no longer true, having taken nothing. Jobs that must run alone have a way of their
 * own.
 */
import { MillraceError } from '../../internal/errors.js';
import type { ClaimedJob, ClaimRequest } from '../claimed-job.js';
import { type PreparedClaim, prepareClaim } from './claim-plan.js';
import { type ClaimedRow, claimedJobs, inClaimOrder } from './claimed-rows.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { claimLined } from './lined-claim.js';
import { claimAlone } from './lone-claim.js';
import { claimState, claimStatements } from './queries/claim.js';
import type { Sql } from './sql.js';

/** Lanes are added once per queue, priority and name: whoever finds them moved on this often in a row has a broken table. */
const mostReloads = 20;
/** Lanes of lines come and go all the time: after so many looks one that just came is left for the next claim. */
const fewReloads = 3;

export function claim(context: Context, request: ClaimRequest): Promise<ClaimedJob[]> {
  return claimBehind(context, request, []);
}

/** A claim with statements before it in its transaction. */
export async function claimBehind(
  context: Context,
  request: ClaimRequest,
  before: readonly Sql[],
): Promise<ClaimedJob[]> {
  let first = before;
  for (let tries = 0; tries < mostReloads; tries += 1) {
    const prepared = await prepareClaim(context, request);
    const claimed = await once(context, prepared, { before: first, isHasty: tries >= fewReloads });
    if (claimed !== undefined) return claimed;
    // What went before is committed by now.
    first = [];
  }
  throw new MillraceError(
    'internal',
    `claim: the lanes of ${request.takes.flatMap(({ queues }) => queues).join(', ')} changed ${mostReloads} times in a row`,
  );
}

/** Undefined: nothing was taken, but what went before was done; try again. */
async function once(
  context: Context,
  prepared: PreparedClaim,
  { before, isHasty }: { readonly before: readonly Sql[]; readonly isHasty: boolean },
): Promise<ClaimedJob[] | undefined> {
  const { request, queueIds } = prepared;
  if (request.alone || context.survey.haveLines(queueIds) || namesBudget(request)) {
    const { state, rows } = request.alone
      ? await claimAlone(context, prepared, before)
      : await claimLined(context, prepared, { before, isHasty });
    if (state === claimState.fresh) return claimedJobs(context, request.token, rows);
    return read(context, prepared, { state, rows });
  }
  const statements = [...before, ...claimStatements(context.t, prepared.plan)];
  const results = await context.main.sendTransaction(before.length > 0 ? 'exchange' : 'claim', statements);
  const rows = rowsOf(results.at(-2));
  return read(context, prepared, { state: Number(results.at(-1)?.rows[0]?.[0]), rows });
}

async function read(
  context: Context,
  prepared: PreparedClaim,
  { state, rows }: { state: number; rows: readonly ClaimedRow[] },
): Promise<ClaimedJob[] | undefined> {
  if (state === claimState.stale) {
    await context.lanes.load(prepared.queueIds);
    return undefined;
  }
  if (state === claimState.moved) {
    context.survey.doubt(prepared.queueIds);
    return undefined;
  }
  if (state === claimState.lined) {
    context.survey.noteLines(prepared.queueIds);
    return undefined;
  }
  return claimedJobs(context, prepared.request.token, inClaimOrder(prepared, rows));
}

/** A budget for one of its queues; one for a group concerns lines alone. */
function namesBudget({ takes, budgets }: ClaimRequest): boolean {
  if (Object.keys(budgets.queues).length === 0) return false;
  return takes.some(({ queues }) => queues.some((queue) => Object.hasOwn(budgets.queues, queue)));
}

const rowsOf = (result: Result | undefined): ClaimedRow[] => (result?.rows ?? []) as unknown as ClaimedRow[];
