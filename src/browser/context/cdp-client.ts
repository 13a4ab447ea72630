import type { CdpCallOptions, CdpClient } from '../../client/browser-job.js';
import { parseDuration } from '../../internal/duration.js';
import type { CdpEventName, CdpMethod, CdpSession } from '../cdp/cdp-session.js';

/** A session as handlers are given it: by names, and with the job's own signal on each call. */
export class JobCdpClient implements CdpClient {
  readonly #session: CdpSession;
  readonly #signal: AbortSignal;

  constructor(session: CdpSession, signal: AbortSignal) {
    this.#session = session;
    this.#signal = signal;
  }

  async send<Result>(method: string, params?: object, options: CdpCallOptions = {}): Promise<Result> {
    const { timeout, signal } = options;
    const deadline =
      timeout === undefined ? {} : { deadlineMs: parseDuration(timeout, { name: 'option "timeout"' }) };
    const signals = signal === undefined ? this.#signal : AbortSignal.any([this.#signal, signal]);
    const answer: unknown = await this.#session.send(method as CdpMethod, params as never, {
      ...deadline,
      signal: signals,
    });
    return answer as Result;
  }

  on<Params>(event: string, listener: (params: Params) => void): () => void {
    return this.#session.on(event as CdpEventName, listener as (params: unknown) => void);
  }
}
