/**
 * One conversation with Chrome: with the browser itself, or with one of its targets. Calls and events have the types of the
 * protocol; see `CdpConnection` for what holds of them.
 */
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.js';
import { formatDuration } from '../../internal/duration.js';
import { MillraceError } from '../../internal/errors.js';
import { setLongTimeout } from '../../internal/long-timeout.js';

type Commands = ProtocolMapping.Commands;
type Events = ProtocolMapping.Events;
export type CdpMethod = keyof Commands;
export type CdpParams<Method extends CdpMethod> = Commands[Method]['paramsType'][0];
export type CdpResult<Method extends CdpMethod> = Commands[Method]['returnType'];
export type CdpEventName = keyof Events;
export type CdpEventParams<Name extends CdpEventName> = Events[Name][0];

export interface CdpEvent {
  readonly method: string;
  readonly params: unknown;
}

export type CdpReply =
  | { readonly result: object }
  | { readonly error: { readonly code?: number; readonly message?: string } };

export interface CallOptions {
  /** @default 10 s: an answer of a healthy Chrome takes milliseconds; a page's own code has deadlines of its callers */
  readonly deadlineMs?: number;
  /** Gives up as soon as this fires, with its reason as cause. */
  readonly signal?: AbortSignal;
}

export interface CdpSessionPorts {
  readonly send: (method: string, params: object, take: (reply: CdpReply) => void) => void;
  readonly onListenerError: (error: unknown) => void;
}

const defaultDeadlineMs = 10_000;

export class CdpSession {
  readonly id: string;
  readonly #ports: CdpSessionPorts;
  readonly #listeners = new Map<string, Set<(params: never) => void>>();
  readonly #onClose = new Set<(reason: string) => void>();
  #closeReason: string | null = null;

  constructor(id: string, ports: CdpSessionPorts) {
    this.id = id;
    this.#ports = ports;
  }

  /** Null while it is open; then why it is not. */
  get closeReason(): string | null {
    return this.#closeReason;
  }

  /**
   * @throws MillraceError `browser-call-failed` when Chrome refuses it or its target goes, `deadline-exceeded`, `aborted`
   */
  send<Method extends CdpMethod>(
    method: Method,
    params?: CdpParams<Method>,
    options: CallOptions = {},
  ): Promise<CdpResult<Method>> {
    const { deadlineMs = defaultDeadlineMs, signal } = options;
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        finish();
        reject(
          new MillraceError('aborted', `${method}: given up`, { cause: signal?.reason, details: { method } }),
        );
      };
      const timer = setLongTimeout(() => {
        finish();
        reject(
          new MillraceError(
            'deadline-exceeded',
            `${method}: Chrome did not answer within ${formatDuration(deadlineMs)}`,
            {
              details: { method, deadlineMs },
            },
          ),
        );
      }, deadlineMs);
      if (this.#closeReason !== null) {
        finish();
        reject(refused(method, this.#closeReason));
        return;
      }
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#ports.send(method, params ?? {}, (reply) => {
        finish();
        if ('error' in reply) reject(refused(method, reply.error.message ?? 'no reason given'));
        else resolve(reply.result as CdpResult<Method>);
      });
    });
  }

  /** Listens until the answer of this is called. */
  on<Name extends CdpEventName>(name: Name, listener: (params: CdpEventParams<Name>) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener as (params: never) => void);
    return () => void listeners.delete(listener as (params: never) => void);
  }

  /** Called once, with the reason; at once when it is closed already. */
  onClose(listener: (reason: string) => void): () => void {
    if (this.#closeReason === null) this.#onClose.add(listener);
    else listener(this.#closeReason);
    return () => void this.#onClose.delete(listener);
  }

  /** Of the connection only. */
  take({ method, params }: CdpEvent): void {
    for (const listener of this.#listeners.get(method) ?? []) {
      try {
        listener(params as never);
      } catch (error) {
        this.#ports.onListenerError(error);
      }
    }
  }

  /** Of the connection only. */
  close(reason: string): void {
    if (this.#closeReason !== null) return;
    this.#closeReason = reason;
    this.#listeners.clear();
    for (const listener of this.#onClose) listener(reason);
    this.#onClose.clear();
  }
}

const refused = (method: string, message: string): MillraceError =>
  new MillraceError('browser-call-failed', `${method}: ${message}`, { details: { method } });
