/** From the text of a frame to a message, or to what is wrong with it. */
import { z } from 'zod';
import { linkFailures } from '../../protocol/link-terms.js';
import { type WorkerMessage, workerMessage } from '../../protocol/worker-messages.js';

export interface Undecodable {
  readonly code: typeof linkFailures.invalid | typeof linkFailures.unknown;
  readonly text: string;
  /** Of the message, where it could be read; whoever waits for its answer is told. */
  readonly re: number | null;
}

const knownTypes: ReadonlySet<string> = new Set(
  workerMessage.options.map((option) => option.shape.type.value as string),
);
const envelope = z.object({ type: z.string().max(100) });
const withId = z.object({ id: z.number().int().positive() });

export function decode(text: string): WorkerMessage | Undecodable {
  const value = parsed(text);
  const re = withId.safeParse(value).data?.id ?? null;
  const { success, data } = envelope.safeParse(value);
  if (!success) return invalid('a message is a JSON object with a "type"', re);
  if (!knownTypes.has(data.type)) {
    return {
      code: linkFailures.unknown,
      text: `no message of type ${JSON.stringify(data.type)} is known here`,
      re,
    };
  }
  const message = workerMessage.safeParse(value);
  if (message.success) return message.data;
  const [issue] = message.error.issues;
  const where = issue === undefined ? '' : ` at ${issue.path.join('.') || 'its root'}: ${issue.message}`;
  return invalid(`the ${data.type} message does not have its form${where}`, re);
}

export const isUndecodable = (value: WorkerMessage | Undecodable): value is Undecodable => 'code' in value;

function invalid(text: string, re: number | null): Undecodable {
  return { code: linkFailures.invalid, text: text.slice(0, 500), re };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Told as invalid, like everything else that is no message.
    return undefined;
  }
}
