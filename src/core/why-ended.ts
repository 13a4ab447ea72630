import { spell } from './spell-duration.js';
import type { Reason, WhyFacts, WhyJob } from './why-facts.js';

export function endedReasons(facts: WhyFacts): Reason[] {
  const { job, nowMs, keptForMs } = facts;
  const endedForMs = nowMs - (job.finishedAtMs ?? nowMs);
  const { code, sentence, numbers = {} } = endingOf(job, `${spell(endedForMs)} ago`);
  const isKept = keptForMs !== null && job.finishedAtMs !== null;
  return [
    {
      code,
      sentence: isKept ? `${sentence} It is kept for ${spell(keptForMs)} from then.` : sentence,
      numbers: { endedForMs, ...numbers },
      nextChangeAtMs: isKept ? (job.finishedAtMs ?? nowMs) + keptForMs : null,
    },
  ];
}

type Ending = Pick<Reason, 'code' | 'sentence'> & { readonly numbers?: Readonly<Record<string, number>> };

function endingOf(job: WhyJob, ago: string): Ending {
  switch (job.status) {
    case 'buried':
      return burialOf(job, ago);
    case 'cancelled':
      return cancellationOf(job, ago);
    default:
      return completionOf(job, ago);
  }
}

function completionOf(job: WhyJob, ago: string): Ending {
  if (job.outcome === 'skipped')
    return { code: 'skipped', sentence: `It was skipped ${ago}: done without a run.` };
  const tookMs = (job.finishedAtMs ?? 0) - (job.claimedAtMs ?? job.finishedAtMs ?? 0);
  const failed =
    job.attempts === 0 ? '' : ` after ${job.attempts} failed ${job.attempts === 1 ? 'attempt' : 'attempts'}`;
  return {
    code: 'completed',
    sentence: `Worker ${job.workerId ?? 'unknown'} completed it ${ago}, ${spell(tookMs)} after taking it${failed}.`,
    numbers: { tookMs, attempts: job.attempts },
  };
}

function burialOf(job: WhyJob, ago: string): Ending {
  const { attempts, maxAttempts, deaths, lastFailure, reason } = job;
  const last = lastFailure === null ? '' : `: "${lastFailure.message}"`;
  const retry = `Try again by "millrace retry ${job.id.slice(-12)}".`;
  switch (reason) {
    case 'operator':
      return { code: 'buried-by-operator', sentence: `An operator buried it ${ago}. ${retry}` };
    case 'parent-failed':
      return parentFailed('buried', ago);
    case 'poison':
      return {
        code: 'poison',
        sentence: `It was buried ${ago} after ${deaths} deaths of the workers that ran it, the last time with nothing beside it${last}. ${retry}`,
        numbers: { deaths },
      };
    case 'non-retriable':
      return {
        code: 'non-retriable',
        sentence: `It failed for good ${ago}, on attempt ${attempts} of ${maxAttempts}${last}. ${retry}`,
        numbers: { attempts, maxAttempts },
      };
    default:
      return {
        code: 'attempts-exhausted',
        sentence: `Attempt ${attempts} of ${maxAttempts}, its last, failed ${ago}${last}. ${retry}`,
        numbers: { attempts, maxAttempts },
      };
  }
}

function cancellationOf({ reason }: WhyJob, ago: string): Ending {
  if (reason === 'parent-failed') return parentFailed('cancelled', ago);
  if (reason === 'operator')
    return { code: 'cancelled-by-operator', sentence: `An operator cancelled it ${ago}.` };
  const why = reason === null ? ', without a reason' : `: ${reason}`;
  return { code: 'cancelled-by-handler', sentence: `Its handler cancelled it ${ago}${why}.` };
}

const parentFailed = (status: string, ago: string): Ending => ({
  code: 'parent-failed',
  sentence: `It was ${status} ${ago}, since a job it waited for did not complete.`,
});
