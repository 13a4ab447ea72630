import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import type { AccessToken } from '../../storage/access-token.js';
import { isLoopbackHost } from './request-host.js';

const readMs = 5_000;

/**
 * Beyond this machine a hub listens only where there is a token. While the database can't say whether there is one it
 * listens all the same: nobody is let in then.
 *
 * @throws MillraceError `tokens-missing`
 */
export async function checkListen(
  host: string,
  { tokens, logger }: { tokens: () => Promise<readonly AccessToken[]>; logger: Logger },
): Promise<void> {
  if (isLoopbackHost(host)) return;
  let known: readonly AccessToken[];
  try {
    known = await withDeadline(tokens(), { ms: readMs, name: 'reading the tokens before listening' });
  } catch (error) {
    const reason = describeFailure(error).message;
    logger.warn('hub: whether there are tokens is not known yet, nobody is let in until it is', {
      error: reason,
    });
    return;
  }
  if (known.length > 0) return;
  throw new MillraceError(
    'tokens-missing',
    `the hub does not listen on ${host} while there is no token: whoever reaches it could run jobs. Create one first: millrace token create --role admin --name <who>. Or listen on 127.0.0.1`,
    { details: { host } },
  );
}
