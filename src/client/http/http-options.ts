import { describeValue } from '../../internal/describe-value.js';
import { type Duration, parseDuration } from '../../internal/duration.js';
import type { JobDefinition } from '../job-definition.js';
import { OptionProblems } from '../option-problems.js';

export interface MillraceHttpOptions<Jobs extends readonly JobDefinition[] = readonly JobDefinition[]> {
  /** Of the hub: `http://hub:8000`. */
  readonly url: string;
  /** A token of the role that the calls need; none for a hub on this machine that has no tokens. */
  readonly token?: string | undefined;
  /** The jobs that can be dispatched by name, for their types and schemas. @default any name */
  readonly jobs?: Jobs | undefined;
  /** How long one call may take, repeats included; waiting for a result has a time of its own. @default '10s' */
  readonly timeout?: Duration | undefined;
}

export interface ResolvedHttpOptions {
  readonly base: string;
  readonly token: string | undefined;
  readonly jobs: readonly unknown[];
  readonly timeoutMs: number;
}

const defaultTimeoutMs = 10_000;

/** @throws MillraceError `option-unknown`, `option-invalid` with every problem at once */
export function resolveHttpOptions(options: MillraceHttpOptions): ResolvedHttpOptions {
  const problems = new OptionProblems('options of MillraceHttp');
  const given = problems.takeObject(options);
  problems.checkKeys(given, ['url', 'token', 'jobs', 'timeout']);
  const { token, jobs = [], timeout = defaultTimeoutMs } = given;
  // A token is not shown, whatever is wrong with it.
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(token))) {
    problems.add('option "token": expected a token as `millrace token create` prints it');
  }
  if (!Array.isArray(jobs)) problems.add('option "jobs": expected a list of what defineJob() made');
  const timeoutMs = problems.attempt(() => parseDuration(timeout, { name: 'option "timeout"', min: 1 }), 0);
  const base = baseOf(given['url'], problems);
  problems.throwIfAny();
  return { base, token: token as string | undefined, jobs: jobs as readonly unknown[], timeoutMs };
}

function baseOf(url: unknown, problems: OptionProblems): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null;
  if (
    parsed === null ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username !== '' ||
    parsed.search !== ''
  ) {
    const got = parsed?.username ? 'one with a user in it' : describeValue(url);
    problems.add(`option "url": expected the address of a hub such as http://hub:8000, got ${got}`);
    return '';
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`;
}
