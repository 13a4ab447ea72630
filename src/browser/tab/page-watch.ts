/**
 * What a page is doing, from the events of its session: which document its main frame has, how far that has come, what it
 * still fetches, whether it is about to go elsewhere by itself, and whether it is alive.
 *
 * It is opened before the first navigation, since what was missed is not told again.
 */
import type { Protocol } from 'devtools-protocol';
import { MillraceError } from '../../internal/errors.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { CdpSession } from '../cdp/cdp-session.js';

/** These may go on for ever, or matter to nobody who waits for a page. */
const uncounted: ReadonlySet<Protocol.Network.ResourceType> = new Set([
  'EventSource',
  'WebSocket',
  'Media',
  'Ping',
  'Prefetch',
  'CSPViolationReport',
]);
/** One that takes longer is a poll, or a server that hangs. */
const oldRequestMs = 10_000;
const quietRequests = 2;
const quietMs = 500;
/** A redirect that the page itself makes within this time is followed. */
const soonMs = 5_000;

interface Main {
  readonly frameId: string;
  loaderId: string;
  status: number | null;
  hasDocument: boolean;
  hasLoaded: boolean;
}

export class PageWatch {
  readonly #session: CdpSession;
  readonly #crash = new AbortController();
  readonly #requests = new Map<string, number>();
  readonly #signal: AbortSignal;
  #main: Main = { frameId: '', loaderId: '', status: null, hasDocument: true, hasLoaded: true };
  #quietSinceMs = 0;
  #leavesAtMs: number | null = null;
  #documentUrl = '';

  private constructor(session: CdpSession, signal: AbortSignal) {
    this.#session = session;
    this.#signal = AbortSignal.any([signal, this.#crash.signal]);
  }

  /** `signal`: of the attempt. */
  static async open(session: CdpSession, signal: AbortSignal): Promise<PageWatch> {
    const watch = new PageWatch(session, signal);
    watch.#listen();
    await Promise.all([
      session.send('Page.enable'),
      session.send('Network.enable'),
      session.send('Inspector.enable'),
      session.send('Page.setLifecycleEventsEnabled', { enabled: true }),
    ]);
    const { frameTree } = await session.send('Page.getFrameTree');
    const { id: frameId, loaderId } = frameTree.frame;
    watch.#main = { ...watch.#main, frameId, loaderId };
    return watch;
  }

  /** Fires when the attempt is over, the page has crashed, or its session has ended. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  get frameId(): string {
    return this.#main.frameId;
  }

  /** Changes with each document. */
  get loaderId(): string {
    return this.#main.loaderId;
  }

  /** What its main frame asked for last, redirects and failures included. */
  get documentUrl(): string {
    return this.#documentUrl;
  }

  get status(): number | null {
    return this.#main.status;
  }

  get hasDocument(): boolean {
    return this.#main.hasDocument;
  }

  get hasLoaded(): boolean {
    return this.#main.hasLoaded;
  }

  /** The page has said that it goes elsewhere, soon. */
  get isLeaving(): boolean {
    return this.#leavesAtMs !== null && this.#leavesAtMs - monotonicMs() < soonMs;
  }

  /** At most two requests ran for half a second. */
  get isQuiet(): boolean {
    const nowMs = monotonicMs();
    const running = [...this.#requests.values()].filter((startedMs) => nowMs - startedMs < oldRequestMs);
    if (running.length > quietRequests) this.#quietSinceMs = nowMs;
    return nowMs - this.#quietSinceMs >= quietMs;
  }

  #listen(): void {
    const session = this.#session;
    session.onClose((reason) => this.#crash.abort(crashed(reason)));
    session.on('Inspector.targetCrashed', () => this.#crash.abort(crashed('the page has crashed')));
    session.on('Page.frameNavigated', ({ frame }) => this.#navigated(frame));
    session.on('Page.lifecycleEvent', (event) => this.#moved(event));
    session.on('Network.requestWillBeSent', (event) => this.#requested(event));
    session.on('Network.loadingFinished', ({ requestId }) => this.#requestEnded(requestId));
    session.on('Network.loadingFailed', ({ requestId }) => this.#requestEnded(requestId));
    session.on('Network.responseReceived', ({ type, frameId, loaderId, response }) => {
      if (type !== 'Document' || frameId !== this.#main.frameId) return;
      this.#begin(loaderId);
      this.#main.status = response.status;
    });
    session.on('Page.frameScheduledNavigation', ({ frameId, delay }) => {
      if (frameId === this.#main.frameId) this.#leavesAtMs = monotonicMs() + delay * 1_000;
    });
    session.on('Page.frameClearedScheduledNavigation', ({ frameId }) => {
      if (frameId === this.#main.frameId) this.#leavesAtMs = null;
    });
  }

  /** Of this document; its response comes before its first event. */
  #begin(loaderId: string): void {
    if (loaderId === this.#main.loaderId) return;
    this.#leavesAtMs = null;
    const { frameId } = this.#main;
    this.#main = { frameId, loaderId, status: null, hasDocument: false, hasLoaded: false };
  }

  #navigated({ id, parentId, loaderId }: Protocol.Page.Frame): void {
    if (parentId !== undefined) return;
    this.#main = { ...this.#main, frameId: id };
    this.#begin(loaderId);
    this.#quietSinceMs = monotonicMs();
  }

  #moved({ frameId, loaderId, name }: Protocol.Page.LifecycleEventEvent): void {
    if (frameId !== this.#main.frameId) return;
    if (name === 'init') this.#begin(loaderId);
    if (loaderId !== this.#main.loaderId) return;
    if (name === 'DOMContentLoaded') this.#main.hasDocument = true;
    if (name === 'load') this.#main.hasLoaded = true;
  }

  #requested({ requestId, type, request, frameId }: Protocol.Network.RequestWillBeSentEvent): void {
    if (type === 'Document' && frameId === this.#main.frameId) this.#documentUrl = request.url;
    if ((type !== undefined && uncounted.has(type)) || request.url.startsWith('data:')) return;
    this.#requests.set(requestId, monotonicMs());
    if (this.#requests.size > quietRequests) this.#quietSinceMs = monotonicMs();
  }

  #requestEnded(requestId: string): void {
    if (this.#requests.size > quietRequests) this.#quietSinceMs = monotonicMs();
    this.#requests.delete(requestId);
  }
}

const crashed = (reason: string): MillraceError =>
  new MillraceError('page-crashed', `the page of this job is gone: ${reason}`);
