import { spell } from './spell-duration.js';
import type { Reason, WhyFacts, WhyJob } from './why-facts.js';

export function endedReasons(facts: WhyFacts): Reason[] {
  const { job, nowMs, keptForMs } = facts;
  const endedForMs = nowMs - (job.finishedAtMs ?? nowMs);
  const ago = `${spell(endedForMs)} ago`;
  const {
    code,
    sentence,
    numbers = {},
  } = job.reason === 'parent-failed' && job.status !== 'completed'
    ? parentFailed(facts, ago)
    : endingOf(job, ago);
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
  if (reason === 'operator')
    return { code: 'cancelled-by-operator', sentence: `An operator cancelled it ${ago}.` };
  const why = reason === null ? ', without a reason' : `: ${reason}`;
  return { code: 'cancelled-by-handler', sentence: `Its handler cancelled it ${ago}${why}.` };
}

/** Of many parents so many are named. */
const parentsShown = 10;

function parentFailed({ job, failedParents }: WhyFacts, ago: string): Ending {
  const named = failedParents.slice(0, parentsShown).map(({ id, status }) => `${id} (${status})`);
  const more = failedParents.length - named.length;
  const list = more > 0 ? [...named, `${more} more`] : named;
  const what =
    list.length === 0
      ? 'a job it waited for did not complete; that one is no longer kept, or was tried again since'
      : `${list.length === 1 ? 'a job' : 'jobs'} it waited for did not complete: ${list.join(', ')}`;
  return {
    code: 'parent-failed',
    sentence: `It was ${job.status} ${ago}, since ${what}.`,
    numbers: { failedParents: failedParents.length },
  };
}
