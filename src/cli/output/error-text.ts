import { hasErrorCode, isMillraceError } from '../../internal/errors.js';
import { describeFailure, type FailureRecord } from '../../internal/failure.js';
import { maskUrl } from '../../internal/logger.js';
import { printable, printableBlock } from '../../internal/printable.js';

/** One sentence, more only for a list of problems or with `--debug`. */
export function errorText(error: unknown, isDebug: boolean): string {
  const known = isMillraceError(error);
  const message = known ? error.message : describeFailure(error).message;
  const head = `millrace: ${printableBlock(maskUrl(message))}${known ? ` [${error.code}]` : ''}\n`;
  if (isDebug) return head + stackText(describeFailure(error));
  const isOurs = !known || hasErrorCode(error, 'internal');
  return isOurs ? `${head}Run it again with --debug to see where this happened.\n` : head;
}

function stackText(record: FailureRecord): string {
  const lines = (record.stack ?? `${record.name}: ${record.message}`)
    .split('\n')
    .map((line) => printable(maskUrl(line)));
  const cause = record.cause === undefined ? '' : `caused by ${stackText(record.cause)}`;
  return `${lines.join('\n')}\n${cause}`;
}

/** The same for programs. What is no error of ours has the code `internal`. */
export function errorDocument(error: unknown): { readonly code: string; readonly message: string } {
  if (isMillraceError(error)) return { code: error.code, message: maskUrl(error.message) };
  return { code: 'internal', message: maskUrl(describeFailure(error).message) };
}
