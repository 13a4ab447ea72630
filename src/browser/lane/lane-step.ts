import type { LaneStep } from '../../core/lane-steps.js';
import { withDeadline } from '../../internal/deadline.js';
import { formatDuration } from '../../internal/duration.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import type { LaneStepTaken } from '../../worker/lanes/lane-steps.js';
import { monotonicMs } from '../../worker/monotonic.js';

/** Whom steps are told to. */
export interface StepPorts {
  /** For the log: `lane 1`. */
  readonly name: string;
  readonly logger: Logger;
  readonly onStep: (taken: Pick<LaneStepTaken, 'step' | 'helped' | 'reason' | 'tookMs'>) => void;
}

export interface StepOptions {
  readonly step: LaneStep;
  /** Why it is taken, in words. */
  readonly reason: string;
  readonly deadlineMs: number;
  /** Its Chrome is gone: then nothing is left to be done, and nothing is told. */
  readonly isMoot: () => boolean;
}

/** Takes one step of the ladder, logs and tells of it; false: it did not help. Never rejects. */
export async function takeStep(
  ports: StepPorts,
  { step, reason, deadlineMs, isMoot }: StepOptions,
  act: () => Promise<unknown>,
): Promise<boolean> {
  const startedAtMs = monotonicMs();
  const failure = await withDeadline(act(), { ms: deadlineMs, name: step }).then(
    () => null,
    (error: unknown) => describeFailure(error).message,
  );
  if (isMoot()) return failure === null;
  const tookMs = Math.round(monotonicMs() - startedAtMs);
  const { name, logger, onStep } = ports;
  if (failure === null) logger.info(`${name}: ${step} (${reason}) took ${formatDuration(tookMs)}`);
  else logger.warn(`${name}: ${step} (${reason}) failed after ${formatDuration(tookMs)}: ${failure}`);
  onStep({ step, helped: failure === null, reason, tookMs });
  return failure === null;
}
