import { spell } from './spell-duration.js';
import type { Reason, WhyBudget, WhyFacts, WhyLimit } from './why-facts.js';

/** What keeps a job that is due from running though a worker is there: its limit, or a budget. */
export function boundReasons(facts: WhyFacts): Reason[] {
  const { limit, budgets } = facts.bounds;
  const isFull = limit !== null && limit.running >= limit.most;
  const tight = budgets.filter(({ budget, running }) => running + facts.job.cost > budget);
  return [...(isFull ? [limited(facts, limit)] : []), ...tight.map((budget) => overBudget(facts, budget))];
}

/** What keeps it from ever running. */
export function neverReasons(facts: WhyFacts): Reason[] {
  const above = facts.bounds.budgets.filter(({ budget }) => facts.job.cost > budget);
  return above.map((budget) => aboveBudget(facts, budget));
}

function limited(facts: WhyFacts, limit: WhyLimit): Reason {
  const { group, key, most, running } = limit;
  const whose = key === null ? `group "${group}"` : `key "${key}" of group "${group}"`;
  return {
    code: 'limited',
    sentence: `${running} of at most ${most} jobs of ${whose} run: it starts when one has ended and its turn has come.${holderOf(facts, limit)}`,
    numbers: { running, max: most },
    nextChangeAtMs: null,
  };
}

function holderOf({ nowMs }: WhyFacts, { holders: [holder], running }: WhyLimit): string {
  if (holder === undefined) return '';
  const others = running > 1 ? `, beside ${running - 1} more` : '';
  const forMs = nowMs - (holder.claimedAtMs ?? nowMs);
  return ` Worker ${holder.workerId ?? 'unknown'} has held job ${holder.id} for ${spell(forMs)}${others}.`;
}

function overBudget({ job: { cost } }: WhyFacts, { of, name, budget, running }: WhyBudget): Reason {
  return {
    code: 'over-budget',
    sentence: `What runs of ${of} "${name}" costs ${running} of a budget of ${budget}, and this one would cost ${cost}: it starts when enough has ended.`,
    numbers: { cost, running, budget },
    nextChangeAtMs: null,
  };
}

function aboveBudget({ job: { cost } }: WhyFacts, { of, name, budget }: WhyBudget): Reason {
  const setting = of === 'queue' ? 'RESOURCE_QUEUE_COST_BUDGETS' : 'RESOURCE_GROUP_COST_BUDGETS';
  return {
    code: 'above-budget',
    sentence: `It costs ${cost}, more than the whole budget of ${budget} of ${of} "${name}", so it never runs: raise ${setting}, or dispatch it with a lower cost.`,
    numbers: { cost, budget },
    nextChangeAtMs: null,
  };
}
