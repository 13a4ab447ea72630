/**
 * The end of the connection to a hub, twin of `LinkControl`: it registers by the hello, beats, pairs answers with what was
 * asked, and passes on what comes. It runs in the link thread where there can be one, so that a blocked main loop delays
 * no heartbeat; it decides nothing.
 *
 * - A request is answered once. The end of its connection refuses all that is open with `hub-unreachable`: whether the
 *   hub has done it is then unknown, and asking again is safe. What is answered after that is passed over, but for jobs:
 *   these are leased to this worker, however late they come.
 * - The hello names what main holds. Main is asked for it, and where it does not answer in time (its loop is blocked) what
 *   it told last counts, with all that was handed to it since: naming too much does no harm, naming too little gives a
 *   running job to another worker.
 */
import { withDeadline } from '../../../internal/deadline.js';
import type { AssignMessage, HubMessage, WelcomeMessage } from '../../../protocol/hub-messages.js';
import type { Lease } from '../../../storage/claimed-job.js';
import { monotonicMs } from '../../monotonic.js';
import { blankStatus, type WorkerStatus } from '../link.js';
import { BeatTimes } from './beat-times.js';
import { type HelloBody, HubConnection, type OutgoingBody, type SentMessage } from './hub-connection.js';
import type { HubDownMessage, HubLinkData, HubTelling, HubUpMessage } from './hub-link-messages.js';
import { OpenRequests } from './open-requests.js';
import type { ConnectionEnd } from './reconnect.js';

/** Main answers within a turn of its loop, or is blocked. */
const heldMs = 500;
/** Beyond so many unsent bytes lines of log are dropped. */
const mostUnsentBytes = 512 * 1024;
/** A hub that leaves so many heartbeats unanswered is not there, whatever else comes from it. */
const beatsUnanswered = 3;
const leastBeatAnswerMs = 20_000;
/** Beats that fail are tried again so often. */
const failedBeatMs = 1_000;

export class HubControl {
  readonly #data: HubLinkData;
  readonly #send: (message: HubUpMessage) => void;
  readonly #connection: HubConnection;
  readonly #requests = new OpenRequests();
  readonly #beats = new BeatTimes();
  readonly #heldWaiters = new Map<number, (leases: readonly Lease[]) => void>();
  #workerId: string;
  #connections = 0;
  #asks = 0;
  #status: WorkerStatus = blankStatus;
  #held: readonly Lease[] = [];
  #handed: Lease[] = [];
  #beatTimer: NodeJS.Timeout | null = null;
  #heartbeatMs: number;
  #toldState = '';
  #dropped = 0;
  #isStopping = false;

  constructor(data: HubLinkData, send: (message: HubUpMessage) => void, random = Math.random) {
    this.#data = data;
    this.#send = send;
    this.#workerId = data.workerId;
    this.#heartbeatMs = data.heartbeatMs;
    this.#connection = new HubConnection({
      urls: data.urls,
      workerId: () => this.#workerId,
      createHello: () => this.#createHello(),
      onOpen: (welcome, hello, url) => this.#open(welcome, hello, url),
      onMessage: (message) => this.#take(message),
      onLost: (end, waitMs, fix) => this.#lost(end, waitMs, fix),
      onSuperseded: () => this.#superseded(),
      log: (level, message, fields = {}) => send({ type: 'log', level, message, fields }),
      random,
    });
  }

  start(): void {
    this.#connection.start();
  }

  /** From main. */
  take(message: HubDownMessage): void {
    switch (message.type) {
      case 'report':
        this.#report(message.status, message.held);
        break;
      case 'held':
        this.#heldWaiters.get(message.ask)?.(message.leases);
        break;
      case 'request':
        this.#request(message);
        break;
      case 'tell':
        this.#tell(message.body);
        break;
      case 'stop':
        void this.stop(message.deadlineMs);
        break;
    }
  }

  /** Says goodbye where there is a connection, within the time given. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#stopBeats();
    const sent = this.#connection.send({ type: 'goodbye', status: this.#status });
    if (sent !== null) {
      try {
        const answered = new Promise<void>((resolve) =>
          this.#requests.add(sent, { type: 'goodbye', key: null, hasWant: false, onEnd: () => resolve() }),
        );
        await withDeadline(answered, { ms: deadlineMs, name: 'goodbye to the hub' });
      } catch (error) {
        this.#log('warn', 'could not say goodbye to the hub; the registration will lapse', {
          error: String(error),
        });
      }
    } else this.#log('warn', 'no hub to say goodbye to; the registration will lapse', {});
    await this.#connection.close();
    this.#refuseAll('the worker stops');
    this.#send({ type: 'stopped' });
  }

  async #createHello(): Promise<HelloBody> {
    const { token, facts } = this.#data;
    const held = await this.#inventory();
    return {
      type: 'hello',
      ...(token === '' ? {} : { token }),
      ...facts,
      // It has ended once: later its leases are others'.
      ended: this.#connections === 0 ? facts.ended : null,
      held,
      status: this.#status,
    };
  }

  /** See above. */
  async #inventory(): Promise<readonly Lease[]> {
    this.#asks += 1;
    const ask = this.#asks;
    const told = new Promise<readonly Lease[]>((resolve) => this.#heldWaiters.set(ask, resolve));
    this.#send({ type: 'ask-held', ask });
    try {
      return await withDeadline(told, { ms: heldMs, name: 'what the worker holds' });
    } catch {
      return [...new Map([...this.#held, ...this.#handed].map((lease) => [lease.id, lease])).values()];
    } finally {
      this.#heldWaiters.delete(ask);
    }
  }

  #open(welcome: WelcomeMessage, hello: SentMessage, url: string): void {
    const { workerId, adminState, recycleAsked, paused, leaseMs, maxFrameBytes, held } = welcome;
    this.#connections += 1;
    this.#workerId = workerId;
    this.#heartbeatMs = Math.min(this.#data.heartbeatMs, welcome.heartbeatMs);
    this.#beats.reset(hello);
    this.#send({
      type: 'open',
      opening: {
        ...{ connection: this.#connections, url, workerId, adminState, recycleAsked, paused },
        ...{ leaseMs, maxFrameBytes, held, askedAtMs: hello.atMs },
      },
    });
    this.#noteClock(welcome.nowMs, hello.atMs);
    if (!this.#isStopping) this.#beat();
  }

  #lost(end: ConnectionEnd, waitMs: number, fix: string | null): void {
    this.#stopBeats();
    this.#refuseAll(end.text);
    this.#send({ type: 'lost', loss: { text: end.text, waitMs, fix } });
  }

  #superseded(): void {
    this.#stopBeats();
    this.#refuseAll('a newer connection took its place');
    this.#send({ type: 'superseded' });
  }

  #refuseAll(text: string): void {
    this.#requests.endAll((key) =>
      this.#send({ type: 'refused', key, code: 'hub-unreachable', message: text, retryable: true }),
    );
  }

  #report(status: WorkerStatus, held: readonly Lease[]): void {
    this.#status = status;
    this.#held = held;
    this.#handed = [];
    if (status.state !== this.#toldState && this.#connection.isOpen && !this.#isStopping) this.#beat();
  }

  #beat(): void {
    this.#stopBeats();
    this.#toldState = this.#status.state;
    const sent = this.#connection.send({ type: 'beat', status: this.#status });
    if (sent === null) return;
    this.#beats.note(sent);
    this.#requests.add(sent, { type: 'beat', key: null, hasWant: false, onEnd: () => undefined });
    this.#beatTimer = setTimeout(() => this.#nextBeat(), this.#heartbeatMs);
  }

  #nextBeat(): void {
    const patienceMs = Math.max(beatsUnanswered * this.#heartbeatMs, leastBeatAnswerMs);
    const unansweredMs = monotonicMs() - (this.#requests.oldestBeatAtMs ?? Number.POSITIVE_INFINITY);
    if (unansweredMs > patienceMs && !this.#beats.isLate(this.#heartbeatMs))
      this.#connection.giveUp(`the hub left heartbeats unanswered for ${Math.round(unansweredMs / 1_000)} s`);
    else this.#beat();
  }

  #stopBeats(): void {
    if (this.#beatTimer !== null) clearTimeout(this.#beatTimer);
    this.#beatTimer = null;
  }

  #request({ key, body, connection }: Extract<HubDownMessage, { type: 'request' }>): void {
    const filled: OutgoingBody = body.type === 'beat' ? { type: 'beat', status: this.#status } : body;
    const hasWant = body.type === 'settle' && body.want !== null;
    // The room was reckoned by what had come on a connection that is no more.
    const isStale = hasWant && connection !== this.#connections;
    const sent = isStale ? null : this.#connection.send(filled);
    if (sent === null) {
      const message = 'there is no connection to a hub now';
      this.#send({ type: 'refused', key, code: 'hub-unreachable', message, retryable: true });
      return;
    }
    if (body.type === 'beat') this.#beats.note(sent);
    this.#requests.add(sent, { type: body.type, key, hasWant, onEnd: () => undefined });
  }

  #tell(body: HubTelling): void {
    if (this.#connection.unsentBytes <= mostUnsentBytes && this.#connection.send(body) !== null) return;
    this.#dropped += body.type === 'log' ? body.lines.length : 0;
    this.#log('debug', 'lines for the hub were dropped', { dropped: this.#dropped });
  }

  #take(message: HubMessage): void {
    switch (message.type) {
      case 'assign':
        this.#assigned(message);
        break;
      case 'orders':
        this.#send({ type: 'orders', orders: message });
        break;
      case 'stop':
        this.#send({ type: 'stop-asked', leases: message.leases });
        break;
      case 'lone':
        this.#send({ type: 'lone' });
        break;
      case 'failed':
        this.#failed(message);
        break;
      default:
        this.#answered(message);
    }
  }

  #assigned({ re, assign, beat, jobs }: AssignMessage): void {
    const asked = re === null ? null : this.#requests.get(re);
    for (const { id, token } of jobs) this.#handed.push({ id, token });
    const askedAtMs = Math.max(this.#beats.of(beat), asked?.sent.atMs ?? Number.NEGATIVE_INFINITY);
    if (asked !== null && re !== null) this.#requests.delete(re);
    this.#send({
      type: 'assign',
      assignment: { key: asked?.key ?? null, connection: this.#connections, assign, jobs, askedAtMs },
    });
  }

  #answered(message: Exclude<HubMessage, { type: 'assign' | 'orders' | 'stop' | 'lone' | 'failed' }>): void {
    const asked = this.#requests.get(message.re);
    if (message.type === 'beat-ack') this.#beaten(message, asked?.sent ?? null);
    if (asked === null) return;
    // A settle with a want has its end with the assign that follows.
    if (message.type !== 'settled' || !asked.hasWant) this.#requests.delete(message.re);
    if (asked.key !== null) this.#send({ type: 'answer', key: asked.key, message });
  }

  #beaten(ack: Extract<HubMessage, { type: 'beat-ack' }>, sent: SentMessage | null): void {
    const { held, adminState, recycleAsked, paused } = ack;
    const askedAtMs = sent?.atMs ?? this.#beats.of(ack.re);
    this.#send({ type: 'snapshot', snapshot: { askedAtMs, isRenewal: true, held, paused } });
    this.#send({ type: 'orders', orders: { adminState, recycleAsked, paused } });
    this.#noteClock(ack.nowMs, askedAtMs);
  }

  #failed({ re, code, message, retryable }: Extract<HubMessage, { type: 'failed' }>): void {
    const asked = re === null ? null : this.#requests.get(re);
    if (asked === null || re === null) {
      this.#log('warn', `the hub could not do what it was told: ${message}`, { code });
      return;
    }
    this.#requests.delete(re);
    if (asked.key !== null) this.#send({ type: 'refused', key: asked.key, code, message, retryable });
    else if (asked.type === 'beat') this.#beatFailed(message, code);
  }

  #beatFailed(message: string, code: string): void {
    this.#log('warn', `heartbeat failed, trying again: ${message}`, { code });
    if (this.#isStopping || !this.#connection.isOpen) return;
    this.#stopBeats();
    this.#beatTimer = setTimeout(() => this.#nextBeat(), Math.min(failedBeatMs, this.#heartbeatMs));
  }

  /** The clock of the database against this machine's, by the middle of question and answer. */
  #noteClock(nowMs: number, askedAtMs: number): void {
    this.#send({ type: 'clock-skew', skewMs: nowMs - (Date.now() - (monotonicMs() - askedAtMs) / 2) });
  }

  #log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown>): void {
    this.#send({ type: 'log', level, message, fields });
  }
}
