/*
 * Calls to a hub. What reads, and what carries its own id, is repeated until its time is over when the hub can't be
 * reached or says that waiting may help (503, 429); everything else is done once, and the caller is told.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isErrorCode } from '../../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';
import { closedError } from '../storage-access.js';
import type { ResolvedHttpOptions } from './http-options.js';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  /** JSON. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether doing it twice is doing it once. @default of a GET */
  readonly isRepeatable?: boolean | undefined;
  /** @default that of the client */
  readonly timeoutMs?: number | undefined;
}

export interface HttpReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a hub answers is told by the shapes in protocol/http
  readonly body: any;
  /** How often it was sent before this answer came. */
  readonly repeats: number;
}

const pauseBaseMs = 50;
const pauseMaxMs = 2_000;
const longestBody = 64 * 1024 ** 2;

export class HttpCalls {
  readonly #options: ResolvedHttpOptions;
  readonly #closing = new AbortController();

  constructor(options: ResolvedHttpOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  close(): void {
    this.#closing.abort();
  }

  /** @throws MillraceError with the code of the hub; `hub-unreachable`, `hub-refused`, `deadline-exceeded`, `aborted`, `closed` */
  async send(call: HttpCall): Promise<HttpReply> {
    const { isRepeatable = call.method === 'GET', timeoutMs = this.#options.timeoutMs } = call;
    const endsAt = performance.now() + timeoutMs;
    for (let repeats = 0; ; repeats += 1) {
      try {
        return { ...(await this.#once(call, Math.max(endsAt - performance.now(), 1))), repeats };
      } catch (error) {
        if (!isRepeatable || !isMillraceError(error) || !error.retryable) throw error;
        const { retryAfterMs = Math.random() * Math.min(pauseMaxMs, pauseBaseMs * 2 ** repeats) } =
          error.details as { retryAfterMs?: number };
        if (performance.now() + retryAfterMs >= endsAt) throw error;
        await this.#pause(retryAfterMs, call.signal);
      }
    }
  }

  /** The answer as it comes, for streams. */
  async stream(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    if (this.isClosed) throw closedError();
    const all = AbortSignal.any([signal, this.#closing.signal]);
    const answer = await this.#fetch(path, { method: 'GET', headers: this.#headers(headers), signal: all });
    if (!answer.ok) throw problemError(answer, await bodyOf(answer));
    return answer;
  }

  async #once({ method, path, query, body, signal }: HttpCall, ms: number) {
    if (this.isClosed) throw closedError();
    const timeout = AbortSignal.timeout(Math.ceil(ms));
    const signals = [timeout, this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    try {
      const answer = await this.#fetch(`${path}${searchOf(query)}`, {
        method,
        headers: this.#headers(
          method === 'GET' || method === 'DELETE' ? {} : { 'content-type': 'application/json' },
        ),
        signal: AbortSignal.any(signals),
        ...(body === undefined ? {} : { body }),
      });
      const told = await bodyOf(answer);
      if (!answer.ok) throw problemError(answer, told);
      return { status: answer.status, body: told };
    } catch (error) {
      if (this.isClosed) throw closedError();
      if (signal?.aborted === true) throw aborted(path, signal);
      if (timeout.aborted) throw tooLate(method, path, ms);
      throw error;
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.#options.base}${path}`, { ...init, redirect: 'error' });
    } catch (error) {
      throw unreachable(this.#options.base, error);
    }
  }

  #headers(more: Record<string, string>): Record<string, string> {
    const { token } = this.#options;
    return {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...more,
    };
  }

  async #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    try {
      await pause(ms, undefined, { signal: AbortSignal.any(signals) });
    } catch {
      // It ended early: the next try says why.
    }
  }
}

/** @throws MillraceError for what is no answer of a hub */
async function bodyOf(answer: Response): Promise<unknown> {
  if (Number(answer.headers.get('content-length') ?? 0) > longestBody)
    throw strange(answer, 'a body too large');
  let text: string;
  try {
    text = await answer.text();
  } catch (error) {
    throw unreachable(new URL(answer.url).origin, error);
  }
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw strange(answer, 'a body that is no JSON');
  }
}

function searchOf(query: Readonly<Record<string, unknown>> | undefined): string {
  const entries = Object.entries(query ?? {}).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [[key, value instanceof Date ? value.toISOString() : String(value)] as [string, string]];
  });
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
}

/** A problem of the hub as the error that it was there. */
function problemError(answer: Response, body: unknown): MillraceError {
  const { code, detail, retryable, details, problems } = (body ?? {}) as Record<string, unknown>;
  if (typeof code !== 'string' || !isErrorCode(code)) throw strange(answer, 'no problem of Millrace');
  const after = Number(answer.headers.get('retry-after') ?? Number.NaN);
  const mayPass = answer.status === 503 || answer.status === 429;
  return new MillraceError(code, typeof detail === 'string' ? detail : `the hub answered ${answer.status}`, {
    retryable: mayPass || retryable === true,
    details: {
      ...(typeof details === 'object' ? details : {}),
      ...(problems === undefined ? {} : { problems }),
      ...(Number.isFinite(after) ? { retryAfterMs: after * 1_000 } : {}),
      httpStatus: answer.status,
    },
  });
}

/** A proxy before the hub answers in its own words; of those that say "later" the call may be repeated. */
function strange(answer: Response, what: string): MillraceError {
  const mayPass = answer.status >= 502 && answer.status <= 504;
  return new MillraceError(
    mayPass ? 'hub-unreachable' : 'hub-refused',
    `${new URL(answer.url).origin} answered ${answer.status} with ${what}. Is this the address of a hub?`,
    { details: { httpStatus: answer.status } },
  );
}

function unreachable(base: string, error: unknown): MillraceError {
  const { cause } = error as { cause?: { message?: string; code?: string } };
  const why = cause?.code ?? cause?.message ?? (error as Error).message;
  return new MillraceError('hub-unreachable', `the hub at ${base} can't be reached (${why})`, {
    retryable: true,
    cause: error,
  });
}

function tooLate(method: string, path: string, ms: number): MillraceError {
  return new MillraceError('deadline-exceeded', `${method} ${path}: no answer of the hub in time`, {
    details: { deadlineMs: Math.round(ms) },
  });
}

function aborted(path: string, signal: AbortSignal): MillraceError {
  return new MillraceError('aborted', `${path}: given up, its signal was aborted`, { cause: signal.reason });
}
