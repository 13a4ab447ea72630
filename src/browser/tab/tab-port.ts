import { setTimeout as pause } from 'node:timers/promises';
import { type Duration, formatDuration, parseDuration } from '../../internal/duration.js';
import { hasErrorCode, MillraceError } from '../../internal/errors.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { CdpMethod, CdpParams, CdpResult, CdpSession } from '../cdp/cdp-session.js';
import type { GuardProxy } from '../net/guard-proxy.js';
import type { PageWatch } from './page-watch.js';

const defaultMs = 30_000;
const lookEveryMs = 100;
const worldName = 'millrace';
/** A page that goes elsewhere meanwhile takes what was asked of it along; what only reads asks again. */
const readTries = 3;

/** Time that one verb has. */
export interface Budget {
  readonly totalMs: number;
  readonly endsAtMs: number;
}

export function budget(timeout: Duration | undefined, totalMs = defaultMs): Budget {
  const ms = timeout === undefined ? totalMs : parseDuration(timeout, { name: 'option "timeout"', min: 1 });
  return { totalMs: ms, endsAtMs: monotonicMs() + ms };
}

export const leftMs = ({ endsAtMs }: Budget): number => Math.max(endsAtMs - monotonicMs(), 1);

/** What keeps a page from targets. */
export type Guard = Pick<GuardProxy, 'policy' | 'failureOf'>;

/** What every verb stands on: calls and scripts in the page, each ended by its time, by the attempt and with the page. */
export class TabPort {
  readonly watch: PageWatch;
  readonly guard: Guard | null;
  readonly #session: CdpSession;

  constructor(session: CdpSession, watch: PageWatch, guard: Guard | null) {
    this.#session = session;
    this.guard = guard;
    this.watch = watch;
  }

  async call<Method extends CdpMethod>(
    method: Method,
    params: CdpParams<Method>,
    time: Budget,
  ): Promise<CdpResult<Method>> {
    try {
      const { signal } = this.watch;
      return await this.#session.send(method, params, { deadlineMs: leftMs(time), signal });
    } catch (error) {
      throw this.#whyEnded(error);
    }
  }

  /** Runs a function of ours, given as text, in a world of its own: what the page has changed of its own does not reach it. */
  async script<Result>(code: string, args: readonly unknown[], time: Budget): Promise<Result> {
    const { frameId } = this.watch;
    const { executionContextId } = await this.call('Page.createIsolatedWorld', { frameId, worldName }, time);
    const { result } = await this.call(
      'Runtime.callFunctionOn',
      {
        functionDeclaration: code,
        executionContextId,
        arguments: args.map((value) => (value === undefined ? {} : { value })),
        returnByValue: true,
        awaitPromise: true,
      },
      time,
    );
    return result.value as Result;
  }

  /** The same, for what changes nothing: again when the page went elsewhere meanwhile. */
  async read<Result>(code: string, args: readonly unknown[], time: Budget): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.script<Result>(code, args, time);
      } catch (error) {
        if (tries >= readTries || !hasErrorCode(error, 'browser-call-failed')) throw error;
        await this.pause(lookEveryMs);
      }
    }
  }

  /** Looks until there is something other than null; `describe` says what was missing. */
  async until<T>(look: () => Promise<T | null>, time: Budget, describe: () => MillraceError): Promise<T> {
    for (;;) {
      const found = await look().catch((error: unknown) => {
        if (hasErrorCode(error, 'browser-call-failed')) return null;
        if (hasErrorCode(error, 'deadline-exceeded')) throw describe();
        throw error;
      });
      if (found !== null) return found;
      if (monotonicMs() >= time.endsAtMs) throw describe();
      await this.pause(Math.min(lookEveryMs, leftMs(time)));
    }
  }

  async pause(ms: number): Promise<void> {
    try {
      await pause(ms, undefined, { signal: this.watch.signal });
    } catch (error) {
      throw this.#whyEnded(error);
    }
  }

  #whyEnded(error: unknown): unknown {
    const { signal } = this.watch;
    return signal.aborted && signal.reason instanceof Error ? signal.reason : error;
  }
}

export const tooLate = (what: string, { totalMs }: Budget, fix: string): MillraceError =>
  new MillraceError('deadline-exceeded', `${what} within ${formatDuration(totalMs)}. ${fix}`, {
    details: { deadlineMs: totalMs },
  });
