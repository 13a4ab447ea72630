/*
 * Why a job is where it is: facts about it, its queue and the workers in, reasons out. This is the one list of reasons;
 * library, commands and pages show what stands here. The first reason is the one to look at first; each says what is
 * known in numbers and when something can change by itself, where that is known.
 */
import { spell } from './spell-duration.js';
import { endedReasons } from './why-ended.js';
import type { Reason, WhyFacts } from './why-facts.js';
import { waitingReasons } from './why-waiting.js';

/** Never empty. */
export function whyReasons(facts: WhyFacts): Reason[] {
  switch (facts.job.status) {
    case 'pending':
    case 'blocked':
      return waitingReasons(facts);
    case 'processing':
      return runningReasons(facts);
    case 'completed':
    case 'buried':
    case 'cancelled':
      return endedReasons(facts);
  }
}

function runningReasons(facts: WhyFacts): Reason[] {
  const { job, nowMs, holderSilentForMs } = facts;
  const holder = `worker ${job.workerId ?? 'unknown'}`;
  const leaseUntilMs = job.leaseUntilMs ?? nowMs;
  const reasons: Reason[] = [];
  if (leaseUntilMs < nowMs) {
    const silence =
      holderSilentForMs === null
        ? 'is not registered any more'
        : `has been silent for ${spell(holderSilentForMs)}`;
    reasons.push({
      code: 'lease-expired',
      sentence: `The lease of ${holder} ended ${spell(nowMs - leaseUntilMs)} ago, and it ${silence}. The job is taken back once the loss is proven; "millrace recover" looks now.`,
      numbers: {
        expiredForMs: nowMs - leaseUntilMs,
        ...(holderSilentForMs === null ? {} : { holderSilentForMs }),
      },
      nextChangeAtMs: null,
    });
  }
  if (job.stopRequest !== null) {
    reasons.push({
      code: 'stop-requested',
      sentence: `An operator asked for a ${job.stopRequest}: it is carried out when the attempt ends in anything but a completion.`,
      numbers: {},
      nextChangeAtMs: null,
    });
  }
  return [...reasons, job.isStarted ? running(facts, holder) : taken(facts, holder)];
}

function running({ job, nowMs, progress }: WhyFacts, holder: string): Reason {
  const forMs = nowMs - (job.claimedAtMs ?? nowMs);
  return {
    code: 'running',
    sentence: `${capitalised(holder)} runs it for ${spell(forMs)} (attempt ${job.attempts + 1} of ${job.maxAttempts})${progressText(progress)}.`,
    numbers: {
      runningForMs: forMs,
      attempt: job.attempts + 1,
      maxAttempts: job.maxAttempts,
      leaseLeftMs: Math.max((job.leaseUntilMs ?? nowMs) - nowMs, 0),
      ...(progress === null ? {} : { done: progress.done }),
      ...(progress === null || progress.total === null ? {} : { total: progress.total }),
    },
    nextChangeAtMs: job.leaseUntilMs,
  };
}

function taken({ job, nowMs }: WhyFacts, holder: string): Reason {
  const forMs = nowMs - (job.claimedAtMs ?? nowMs);
  return {
    code: 'taken',
    sentence: `${capitalised(holder)} took it ${spell(forMs)} ago and has not said that it started: it waits there for a slot, or has just begun.`,
    numbers: { takenForMs: forMs, leaseLeftMs: Math.max((job.leaseUntilMs ?? nowMs) - nowMs, 0) },
    nextChangeAtMs: job.leaseUntilMs,
  };
}

function progressText(progress: WhyFacts['progress']): string {
  if (progress === null) return '';
  const { done, total, note } = progress;
  return `, ${done}${total === null ? '' : ` of ${total}`} done${note === null ? '' : ` (${note})`}`;
}

const capitalised = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
