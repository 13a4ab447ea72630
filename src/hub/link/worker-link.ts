/**
 * All connections of workers to this hub: takes them, welcomes them, handles what they send, and ends them.
 *
 * A connection is taken whatever state storage is in; its hello waits for storage within the time a hello has, and is then
 * answered with `failed` (`retryable`), to be sent again.
 */
import type { WebSocket } from 'ws';
import { closeCodes } from '../../protocol/link-terms.js';
import type { HelloMessage, WorkerMessage } from '../../protocol/worker-messages.js';
import { absentMs, returnTurns, takeTurn, turnMs } from '../../worker/recycle-turns.js';
import type { Absentees } from '../fleet/absentees.js';
import type { FleetWatch } from '../fleet/fleet-watch.js';
import type { HubContext } from '../hub-context.js';
import type { Placement } from '../placement/placement.js';
import { answerFile, isFileQuestion } from './file-requests.js';
import { beat } from './heartbeats.js';
import { join } from './joining.js';
import type { LinkedWorker } from './linked-worker.js';
import { updatedReport } from './report-of.js';
import { answer } from './requests.js';
import type { Roster } from './roster.js';
import { Session, type SessionPorts } from './session.js';

export interface WorkerLinkParts {
  readonly context: HubContext;
  readonly roster: Roster;
  readonly absentees: Absentees;
  readonly fleet: FleetWatch;
  /** Of a storage that is open, so of a worker that was welcomed. */
  readonly placement: () => Placement;
}

type Message<Type extends WorkerMessage['type']> = Extract<WorkerMessage, { type: Type }>;

export class WorkerLink implements SessionPorts {
  readonly #parts: WorkerLinkParts;
  readonly #sessions = new Set<Session>();
  #isStopped = false;
  #onEmpty: () => void = () => undefined;

  constructor(parts: WorkerLinkParts) {
    this.#parts = parts;
  }

  get sessions(): ReadonlySet<Session> {
    return this.#sessions;
  }

  accept(
    socket: WebSocket,
    { wantedId, address }: { readonly wantedId: string; readonly address: string },
  ): void {
    const { context } = this.#parts;
    context.metrics.connections += 1;
    const session = new Session(socket, { context, ports: this, wantedId, address });
    this.#sessions.add(session);
    if (this.#isStopped) session.channel.close(closeCodes.restart, 'this hub goes down');
  }

  tick(nowMs: number): void {
    for (const session of this.#sessions) session.tick(nowMs);
  }

  /** Tells every connection to go elsewhere. */
  closeAll(): void {
    this.#isStopped = true;
    for (const { channel } of this.#sessions) channel.close(closeCodes.restart, 'this hub goes down');
  }

  /** Resolves once there is no connection any more, or the time is over. */
  async emptied(ms: number): Promise<void> {
    if (this.#sessions.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  terminateAll(): void {
    for (const { channel } of this.#sessions) channel.terminate();
  }

  async join(session: Session, hello: HelloMessage): Promise<LinkedWorker | null> {
    const { context, roster, absentees } = this.#parts;
    const { logger } = context;
    const { channel, wantedId } = session;
    if (!(await this.#admits(session, hello))) return null;
    const storage = await context.storage();
    const worker = await join({ context, storage, roster, absentees, channel, wantedId, hello });
    if (worker === null) return null;
    if (!channel.isOpen) {
      session.hold?.[Symbol.dispose]();
      this.#left(worker);
    } else logger.info(`link: worker ${worker.id} connected`, { host: hello.host, epoch: worker.epoch });
    return worker;
  }

  /** False: the connection was closed with the reason. Rejects while nobody can know. */
  async #admits(session: Session, { token }: HelloMessage): Promise<boolean> {
    const { metrics, logger, authenticate } = this.#parts.context;
    const { channel, wantedId, address } = session;
    const admission = await authenticate(token, address);
    if (admission.ok) {
      session.hold?.[Symbol.dispose]();
      session.hold = admission.hold?.((reason) => channel.close(closeCodes.unauthorized, reason)) ?? null;
      return true;
    }
    const { reason } = admission;
    metrics.refusedTokens += 1;
    logger.warn(`link: refused worker ${wantedId}: ${reason}`, { address });
    channel.close(closeCodes.unauthorized, reason);
    return false;
  }

  async handle(worker: LinkedWorker, message: Exclude<WorkerMessage, HelloMessage>): Promise<void> {
    switch (message.type) {
      case 'settle':
        return await this.#settle(worker, message);
      case 'beat':
        worker.lastBeat = message.id;
        return await beat(this.#parts.context, worker, message, (one) => this.#parts.fleet.ordersOf(one));
      case 'turn':
        return await this.#turn(worker, message);
      case 'goodbye':
        return await this.#goodbye(worker, message);
      default: {
        const { context } = this.#parts;
        const reply = isFileQuestion(message)
          ? await answerFile(context.files, worker, message)
          : await answer(context, worker, message);
        if (reply !== null) worker.channel.send(reply);
      }
    }
  }

  onWritable(worker: LinkedWorker): void {
    if (this.#parts.roster.isCurrent(worker)) this.#parts.placement().retry(worker);
  }

  onClosed(session: Session, code: number, reason: string): void {
    this.#sessions.delete(session);
    session.hold?.[Symbol.dispose]();
    if (this.#sessions.size === 0) this.#onEmpty();
    const { worker } = session;
    if (worker === null) return;
    this.#left(worker);
    const { logger } = this.#parts.context;
    if (code === closeCodes.normal) logger.info(`link: worker ${worker.id} left`, { reason });
    else logger.warn(`link: worker ${worker.id} lost`, { code, reason });
  }

  async #settle(worker: LinkedWorker, { id, settlements, want }: Message<'settle'>): Promise<void> {
    const placement = this.#parts.placement();
    // At once, whatever its turn: what this want says is newer than what stands.
    if (want !== null) {
      worker.room.replace(want);
      placement.withdraw(worker);
    }
    const since = placement.generation;
    const mayClaim = worker.orders.adminState !== 'standby' || !placement.hasActiveRoom(worker);
    try {
      await worker.settle(id, settlements, { isWanting: want !== null, mayClaim });
    } catch (error) {
      if (want !== null) worker.room.drop(want);
      throw error;
    }
    if (want !== null && this.#parts.roster.isCurrent(worker)) placement.stand(worker, since);
  }

  async #turn(worker: LinkedWorker, { id, wanted }: Message<'turn'>): Promise<void> {
    const { storage, channel } = worker;
    const holder = { workerId: worker.id, queues: worker.report.queues };
    const { ttlMs } = this.#parts.context.settings;
    if (!wanted) await returnTurns(storage, holder);
    worker.hasTurn = wanted && (await takeTurn(storage, { ...holder, ttlMs }, turnMs)).turn !== null;
    channel.send({ type: 'turn-answer', re: id, granted: worker.hasTurn });
  }

  async #goodbye(worker: LinkedWorker, { id, status }: Message<'goodbye'>): Promise<void> {
    const { channel } = worker;
    worker.hasSaidGoodbye = true;
    this.#parts.placement().withdraw(worker);
    try {
      await this.#unregister(worker, status);
    } catch (error) {
      // It is told so, and says it again.
      worker.hasSaidGoodbye = false;
      throw error;
    }
    channel.send({ type: 'goodbye-ack', re: id });
    channel.close(closeCodes.normal, 'goodbye');
  }

  async #unregister(worker: LinkedWorker, status: Message<'goodbye'>['status']): Promise<void> {
    const { storage, epoch } = worker;
    const { ttlMs } = this.#parts.context.settings;
    await worker.idle();
    worker.report = updatedReport(worker.report, status);
    // Whoever comes in its place has so long to do so.
    if (worker.hasTurn)
      await takeTurn(storage, { workerId: worker.id, queues: worker.report.queues, ttlMs }, absentMs);
    const { outcome } = await storage.heartbeat(worker.report, epoch);
    if (outcome === 'ok') await storage.unregister(worker.id, worker.incarnation);
  }

  /** Only the newest connection of an incarnation has anything to leave behind. */
  #left(worker: LinkedWorker): void {
    const { context, roster, absentees, fleet } = this.#parts;
    if (!roster.leave(worker)) return;
    this.#parts.placement().withdraw(worker);
    if (worker.hasSaidGoodbye) return;
    const { id, incarnation, epoch } = worker;
    absentees.add({ id, incarnation, epoch });
    if (!this.#isStopped) void absentees.note(worker.storage);
    fleet.forget(incarnation);
    context.logger.debug('the leases of a lost worker are kept for it', { worker: id });
  }
}
