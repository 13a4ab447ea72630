import type { JobDefinition } from '../../client/job-definition.js';
import { type Diagnosis, fine } from '../../storage/diagnosis.js';
import type { Setup } from '../session.js';

/** Limits of the definitions that contradict each other, and costs that no budget allows. */
export function diagnoseLimits({ jobs, settings: { values } }: Setup): Diagnosis[] {
  const found = [
    ...contradictions(jobs),
    ...jobs.flatMap((job) => [
      ...tooDear(job, { of: 'queue', name: job.queue ?? 'default', budgets: values.queueCostBudgets }),
      ...tooDear(job, { of: 'group', name: job.limit?.group ?? null, budgets: values.groupCostBudgets }),
    ]),
  ];
  const isNeeded = jobs.some(({ limit, cost }) => limit !== null || cost > 1);
  return found.length > 0 || !isNeeded ? found : [fine('limits', 'agree with each other')];
}

function contradictions(jobs: readonly JobDefinition[]): Diagnosis[] {
  const groups = new Map<string, { readonly name: string; readonly max: number }[]>();
  for (const { name, limit } of jobs) {
    if (limit === null || limit.max === null) continue;
    groups.set(limit.group, [...(groups.get(limit.group) ?? []), { name, max: limit.max }]);
  }
  return [...groups].flatMap(([group, members]): Diagnosis[] => {
    const sorted = members.toSorted((a, b) => a.max - b.max);
    const [least, most] = [sorted[0], sorted.at(-1)];
    if (least === undefined || most === undefined || least.max === most.max) return [];
    return [
      {
        check: 'limits',
        status: 'warn',
        message: `group ${group} has two maxima: ${least.max} of job ${least.name} and ${most.max} of job ${most.name}; the smaller holds while such a job runs`,
        fix: 'Give both the same max, or groups of their own',
      },
    ];
  });
}

interface BudgetOf {
  readonly of: 'queue' | 'group';
  readonly name: string | null;
  readonly budgets: Readonly<Record<string, number>>;
}

function tooDear({ name: job, cost }: JobDefinition, { of, name, budgets }: BudgetOf): Diagnosis[] {
  const budget = name !== null && Object.hasOwn(budgets, name) ? budgets[name] : undefined;
  if (budget === undefined || cost <= budget) return [];
  return [
    {
      check: 'limits',
      status: 'fail',
      message: `job ${job} costs ${cost}, more than the budget of ${budget} of ${of} ${name}: it never runs`,
      fix: 'Raise the budget, or lower its cost',
    },
  ];
}
