import { isMillraceError } from '../../../internal/errors.js';
import { describeFailure } from '../../../internal/failure.js';
import type { Attempt } from '../../attempt.js';
import type { LanePorts } from '../lane.js';
import { answerFileCall, isFileCall } from './answer-file-call.js';
import type { CalledError, DownMessage, LaneCall } from './messages.js';

/** What a context in the child asks of the worker, and the answer for its way back. Never rejects. */
export async function answerCall(
  seq: number,
  call: LaneCall,
  { attempt, ports }: { readonly attempt: Attempt | null; readonly ports: LanePorts },
): Promise<DownMessage> {
  try {
    return { type: 'answer', seq, value: await answerTo(call, attempt, ports) };
  } catch (error) {
    return { type: 'refusal', seq, error: calledError(error) };
  }
}

/** Without an attempt: what asks is a handler that has ended, and holds nothing any more. */
function answerTo(call: LaneCall, attempt: Attempt | null, ports: LanePorts): Promise<unknown> {
  if (call.method === 'enqueue') return ports.enqueue(call.jobs);
  if (isFileCall(call)) return answerFileCall(call, attempt, ports.context.files);
  if (attempt === null) return Promise.resolve(false);
  return call.method === 'renew'
    ? ports.context.renew(attempt)
    : ports.context.wasSettled(attempt, call.hasFailed);
}

function calledError(error: unknown): CalledError {
  if (isMillraceError(error)) {
    const { code, message, retryable } = error;
    return { code, message, retryable, details: plain(error.details) };
  }
  return { code: 'internal', message: describeFailure(error).message, retryable: false, details: {} };
}

function plain(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(details)) as Record<string, unknown>;
  } catch {
    // Details are a courtesy; the code and the message say what happened.
    return {};
  }
}
