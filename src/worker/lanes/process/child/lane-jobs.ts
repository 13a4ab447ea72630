/**
 * Runs the jobs of a lane in its child, one at a time, by the executor and with the context that inline jobs have. Log,
 * progress, renewals and dispatches go to the worker; `settleIn` uses this process's own storage, since the transaction is
 * a connection of this process.
 */
import { mkdirSync } from 'node:fs';
import type { OfferedClient } from '../../../../client/lane-child.js';
import { isMillraceError, MillraceError } from '../../../../internal/errors.js';
import { describeFailure } from '../../../../internal/failure.js';
import type { LogFields, Logger } from '../../../../internal/logger.js';
import { storedText } from '../../../../internal/stored-text.js';
import type { EnqueueOutcome, NewJob } from '../../../../storage/new-job.js';
import type { Settlement } from '../../../../storage/settlement.js';
import type { Storage } from '../../../../storage/storage.js';
import { type AbortCause, Attempt } from '../../../attempt.js';
import type { ContextPorts } from '../../../attempt-context.js';
import { Executor } from '../../../executor.js';
import { monotonicMs } from '../../../monotonic.js';
import type { HelloMessage, LeaselessSettlement, RunMessage } from '../messages.js';
import { JobUsage } from './job-usage.js';
import { LaneFiles } from './lane-files.js';
import type { ParentLine } from './parent-line.js';

const maxTextBytes = 8 * 1024;
/** As many as its own log takes. */
const maxSaid = 1_000;
/** Of one frame, below its cap with everything around it. */
const batchBytes = 1024 ** 2;

export class LaneJobs {
  readonly #client: OfferedClient;
  readonly #hello: HelloMessage;
  readonly #line: ParentLine;
  /** That of this process. */
  readonly #folder = process.env['TMPDIR'];
  #running: { readonly run: number; readonly attempt: Attempt } | null = null;

  constructor(client: OfferedClient, hello: HelloMessage, line: ParentLine) {
    this.#client = client;
    this.#hello = hello;
    this.#line = line;
  }

  run({ run, job, folder, skewMs }: RunMessage): void {
    const definition = this.#client.jobs.get(job.name);
    this.#line.send({ type: 'started', run });
    if (definition === undefined) {
      this.#refuse(run, `its lane has no code for "${job.name}"`);
      return;
    }
    const now = monotonicMs();
    const attempt = new Attempt(job, definition, { claimedAtMs: now, startedAtMs: now });
    this.#running = { run, attempt };
    if (folder !== null) this.#enter(folder);
    void this.#execute(run, attempt, skewMs);
  }

  abort(run: number, cause: AbortCause): void {
    if (this.#running?.run === run) this.#running.attempt.abort(cause, monotonicMs());
  }

  async #execute(run: number, attempt: Attempt, skewMs: number): Promise<void> {
    const { workerId, maxPayloadBytes } = this.#hello;
    const usage = new JobUsage();
    const executor = new Executor({
      ports: this.#ports(run),
      workerId,
      maxPayloadBytes,
      random: Math.random,
      now: () => Date.now() + skewMs,
    });
    const settlement = await executor.run(attempt);
    this.#running = null;
    this.#leave();
    const leaseless = settlement === null ? null : withoutLease(settlement);
    const { isSettled } = attempt;
    this.#line.send({ type: 'ended', run, settlement: leaseless, isSettled, usage: usage.end() });
  }

  /** What it and its own children write for a while goes there; a full disk leaves it the folder of its lane. */
  #enter(folder: string): void {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      process.env['TMPDIR'] = folder;
    } catch {
      // As said: the job may well need no folder.
    }
  }

  #leave(): void {
    if (this.#folder === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = this.#folder;
  }

  #refuse(run: number, reason: string): void {
    const settlement = { kind: 'put-back', delayMs: 5_000, reason } as const;
    this.#line.send({ type: 'ended', run, settlement, isSettled: false, usage: null });
  }

  #ports(run: number): ContextPorts {
    const line = this.#line;
    const written = (settlement: Settlement): void =>
      line.send({ type: 'written', run, settlement: withoutLease(settlement) });
    return {
      log: ({ seq, kind, level, text }) =>
        line.send({ type: 'line', run, line: { seq, kind, level, text: storedText(text, maxTextBytes) } }),
      dispatch: this.#client.dispatchThrough((jobs) => this.#enqueue(run, jobs)),
      renew: async (attempt) => {
        try {
          return await line.call(run, { method: 'renew' });
        } catch {
          // No answer is no verdict on the lease.
          return attempt.abortCause === null;
        }
      },
      settleIn: async (tx, settlement) => {
        const storage = await this.#client.storage();
        const outcome = await (await storage.within(tx)).settle(settlement);
        if (outcome === 'done') written(settlement);
        return outcome;
      },
      settleInSync: (tx, settlement) => {
        const outcome = this.#openStorage().withinSync(tx).settle(settlement);
        if (outcome === 'done') written(settlement);
        return outcome;
      },
      wasSettled: (_attempt, hasFailed) => line.call(run, { method: 'was-settled', hasFailed }),
      files: new LaneFiles(line, run),
      maxPayloadBytes: this.#hello.maxPayloadBytes,
      logger: this.#logger(run),
    };
  }

  /** In parts that fit into a frame each. */
  async #enqueue(run: number, jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const outcomes: EnqueueOutcome[] = [];
    for (const part of partsOf(jobs)) {
      outcomes.push(...(await this.#line.call(run, { method: 'enqueue', jobs: part })));
    }
    return outcomes;
  }

  #openStorage(): Storage {
    const { openStorage } = this.#client;
    if (openStorage !== null) return openStorage;
    throw new MillraceError(
      'closed',
      'settleInSync: the database of the jobs is not open in this process yet. Await open() of the client before, or use settleIn',
    );
  }

  #logger(run: number): Logger {
    let said = 0;
    const say =
      (level: 'debug' | 'info' | 'warn' | 'error') =>
      (message: string, fields: LogFields = {}): void => {
        said += 1;
        if (said > maxSaid) return;
        const text = said === maxSaid ? 'this job logs no more: it wrote 1,000 lines' : message;
        const shown = storedText(text, maxTextBytes);
        this.#line.send({ type: 'said', run, level, message: shown, fields: plainFields(fields) });
      };
    return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
  }
}

/** Its distributed form: each kind keeps its own fields. */
function withoutLease({ id: _id, token: _token, ...rest }: Settlement): LeaselessSettlement {
  return rest as LeaselessSettlement;
}

function partsOf(jobs: readonly NewJob[]): NewJob[][] {
  const parts: NewJob[][] = [];
  let room = 0;
  for (const job of jobs) {
    const bytes = Buffer.byteLength(job.payload) + 1024;
    if (parts.length === 0 || bytes > room) {
      parts.push([]);
      room = batchBytes;
    }
    parts.at(-1)?.push(job);
    room -= bytes;
  }
  return parts;
}

/** Handlers log anything; only what JSON tells crosses. */
function plainFields(fields: LogFields): Record<string, unknown> {
  try {
    const text = JSON.stringify(fields, (_, value: unknown) =>
      value instanceof Error
        ? isMillraceError(value)
          ? { code: value.code, ...describeFailure(value) }
          : describeFailure(value)
        : typeof value === 'bigint'
          ? String(value)
          : value,
    );
    return text.length > 8 * maxTextBytes ? { fields: storedText(text, maxTextBytes) } : JSON.parse(text);
  } catch {
    // A cyclic field or a getter that throws costs its fields, never the line or the job.
    return { fields: '[fields could not be written]' };
  }
}
