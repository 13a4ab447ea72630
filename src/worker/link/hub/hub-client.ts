/**
 * The main loop's end of the link to a hub: pairs requests with answers over a port, and tells what came by itself. An
 * answer that comes late or twice finds nobody and is passed over; jobs that come so go through the same door as those
 * that are pushed, since they are leased to this worker all the same.
 */
import type { DeepReadonly } from '../../../internal/deep-readonly.js';
import { isErrorCode } from '../../../internal/error-codes.js';
import { MillraceError } from '../../../internal/errors.js';
import type { HubMessage } from '../../../protocol/hub-messages.js';
import type { WantShape } from '../../../protocol/worker-messages.js';
import type { ClaimedJob, HeldLease, Lease } from '../../../storage/claimed-job.js';
import type { Settlement, SettleOutcome } from '../../../storage/settlement.js';
import type { LinkSnapshot, WorkerStatus } from '../link.js';
import type {
  HubAssignment,
  HubLoss,
  HubOpening,
  HubOrders,
  HubRequest,
  HubTelling,
  HubUpMessage,
} from './hub-link-messages.js';
import type { HubPort } from './hub-port.js';

export interface HubClientListener {
  onOpen(opening: HubOpening): void;
  onLost(loss: HubLoss): void;
  onSuperseded(): void;
  /** Of jobs that nobody waits for. */
  onAssigned(jobs: readonly ClaimedJob[], askedAtMs: number): void;
  onSnapshot(snapshot: LinkSnapshot): void;
  onOrders(orders: HubOrders): void;
  onStopAsked(leases: readonly HeldLease[]): void;
  onLone(): void;
  onClockSkew(skewMs: number): void;
  onLog(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: object): void;
  /** All that is held now. */
  held(): readonly Lease[];
}

/** What a `settle` came to. */
export interface Exchanged {
  readonly settled: SettleOutcome[];
  readonly claimed: ClaimedJob[];
}

interface Waiting {
  readonly body: HubRequest;
  readonly resolve: (message: HubMessage | Exchanged) => void;
  readonly reject: (error: MillraceError) => void;
  readonly timer: NodeJS.Timeout;
  settled: SettleOutcome[] | null;
}

/** Room as it was at one moment: which connection, and the last assign of it that had come. */
export interface RoomMark {
  readonly connection: number;
  readonly after: number;
}

/** Beyond what storage allows itself for one call. */
const answerMs = 45_000;

export class HubClient {
  readonly #port: HubPort;
  #listener: HubClientListener | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #lastKey = 0;
  #mark: RoomMark = { connection: 0, after: 0 };
  #isOpen = false;

  constructor(port: HubPort) {
    this.#port = port;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** To be taken when room is reckoned. */
  get mark(): RoomMark {
    return this.#mark;
  }

  start(listener: HubClientListener): void {
    this.#listener = listener;
    this.#port.start({
      onMessage: (message) => this.#take(message),
      onDeath: (text, waitMs) => this.#lose({ text, waitMs, fix: null }),
    });
  }

  /** Whoever is told from now on. */
  listen(listener: HubClientListener): void {
    this.#listener = listener;
  }

  report(status: WorkerStatus): void {
    this.#port.post({ type: 'report', status, held: this.#listener?.held() ?? [] });
  }

  /** May be dropped. */
  tell(body: HubTelling): void {
    if (this.#isOpen) this.#port.post({ type: 'tell', body });
  }

  /** @throws MillraceError `hub-unreachable`, `deadline-exceeded`, or what the hub says */
  async request<Type extends HubMessage['type']>(
    body: HubRequest,
    type: Type,
  ): Promise<Extract<HubMessage, { type: Type }>> {
    const answer = await this.#ask(body, this.#mark.connection);
    if ('type' in answer && answer.type === type) return answer as Extract<HubMessage, { type: Type }>;
    throw new MillraceError('hub-refused', `the hub answered "${body.type}" with something else`);
  }

  /** Results, and a want with the mark of its room, or null. */
  async exchange(
    settlements: readonly Settlement[],
    room: { readonly want: Omit<DeepReadonly<WantShape>, 'after'>; readonly mark: RoomMark } | null,
  ): Promise<Exchanged> {
    const want = room === null ? null : { ...room.want, after: room.mark.after };
    const body: HubRequest = { type: 'settle', settlements, want };
    const answer = await this.#ask(body, room?.mark.connection ?? 0);
    if ('claimed' in answer) return answer;
    throw new MillraceError('hub-refused', 'the hub answered results with something else');
  }

  /** Says goodbye, and ends. */
  async stop(deadlineMs: number): Promise<void> {
    await this.#port.stop(deadlineMs);
    this.#lose(null);
  }

  #ask(body: HubRequest, connection: number): Promise<HubMessage | Exchanged> {
    if (!this.#isOpen) return Promise.reject(unreachable('there is no connection to a hub now'));
    this.#lastKey += 1;
    const key = this.#lastKey;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const text = `the hub has not answered "${body.type}" within ${answerMs / 1_000} s`;
        this.#end(key)?.reject(new MillraceError('deadline-exceeded', text));
      }, answerMs);
      this.#waiting.set(key, { body, resolve, reject, timer, settled: null });
      this.#port.post({ type: 'request', key, body, connection });
    });
  }

  #end(key: number): Waiting | null {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return null;
    this.#waiting.delete(key);
    clearTimeout(waiting.timer);
    return waiting;
  }

  #take(message: HubUpMessage): void {
    const listener = this.#listener;
    switch (message.type) {
      case 'open':
        this.#isOpen = true;
        this.#mark = { connection: message.opening.connection, after: 0 };
        listener?.onOpen(message.opening);
        break;
      case 'lost':
        this.#lose(message.loss);
        break;
      case 'answer':
        this.#answered(message.key, message.message);
        break;
      case 'refused':
        this.#refused(message);
        break;
      case 'assign':
        this.#assigned(message.assignment);
        break;
      case 'ask-held':
        this.#port.post({ type: 'held', ask: message.ask, leases: listener?.held() ?? [] });
        break;
      default:
        this.#pass(message);
    }
  }

  #pass(message: HubUpMessage): void {
    const listener = this.#listener;
    switch (message.type) {
      case 'superseded':
        this.#isOpen = false;
        listener?.onSuperseded();
        break;
      case 'snapshot':
        listener?.onSnapshot(message.snapshot);
        break;
      case 'orders':
        listener?.onOrders(message.orders);
        break;
      case 'stop-asked':
        listener?.onStopAsked(message.leases);
        break;
      case 'lone':
        listener?.onLone();
        break;
      case 'clock-skew':
        listener?.onClockSkew(message.skewMs);
        break;
      case 'log':
        listener?.onLog(message.level, message.message, message.fields);
        break;
      default:
    }
  }

  #answered(key: number, message: HubMessage): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) return;
    if (message.type !== 'settled') {
      this.#end(key)?.resolve(message);
      return;
    }
    waiting.settled = message.outcomes;
    // With a want its end is the assign that follows.
    if (waiting.body.type === 'settle' && waiting.body.want === null) {
      this.#end(key)?.resolve({ settled: message.outcomes, claimed: [] });
    }
  }

  #assigned({ key, assign, jobs, askedAtMs }: HubAssignment): void {
    this.#mark = { ...this.#mark, after: assign };
    const waiting = key === null ? null : this.#end(key);
    if (waiting !== null) waiting.resolve({ settled: waiting.settled ?? [], claimed: [...jobs] });
    else if (jobs.length > 0) this.#listener?.onAssigned(jobs, askedAtMs);
  }

  #refused(refusal: Extract<HubUpMessage, { type: 'refused' }>): void {
    const { key, code, message, retryable } = refusal;
    const waiting = this.#end(key);
    if (waiting === null) return;
    // The results were taken; only what was wanted with them is not known.
    if (waiting.settled !== null) waiting.resolve({ settled: waiting.settled, claimed: [] });
    else
      waiting.reject(
        new MillraceError(isErrorCode(code) ? code : 'hub-refused', `hub: ${message}`, {
          retryable,
          details: { code },
        }),
      );
  }

  #lose(loss: HubLoss | null): void {
    this.#isOpen = false;
    const message = loss?.text ?? 'the worker stops';
    for (const key of [...this.#waiting.keys()])
      this.#refused({ type: 'refused', key, code: 'hub-unreachable', message, retryable: true });
    this.#mark = { connection: 0, after: 0 };
    if (loss !== null) this.#listener?.onLost(loss);
  }
}

const unreachable = (text: string): MillraceError => new MillraceError('hub-unreachable', text);
