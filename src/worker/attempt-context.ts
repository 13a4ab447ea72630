import type { DispatchOptions } from '../client/dispatch-options.js';
import type { JobContext, JobFacts } from '../client/job-context.js';
import type { JobDefinition } from '../client/job-definition.js';
import type { JobHandle } from '../client/job-handle.js';
import { cancel, type Outcome, snooze } from '../client/outcomes.js';
import type { Duration } from '../internal/duration.js';
import { describeFailure } from '../internal/failure.js';
import type { LogFields, Logger } from '../internal/logger.js';
import type { FilePort } from '../storage/files/file-port.js';
import type { NewLogLine } from '../storage/job-log.js';
import type { SyncUserTransaction, UserTransaction } from '../storage/transaction/user-transaction.js';
import type { Attempt } from './attempt.js';
import { AttemptFiles } from './attempt-files.js';
import { type SettlePorts, settleWithin, settleWithinSync } from './settle-within.js';

/** What a context reaches outward for; `runNow` and a worker give different ones. */
export interface ContextPorts extends SettlePorts {
  log(line: NewLogLine): void;
  dispatch(
    job: JobDefinition | string,
    input: unknown,
    options?: DispatchOptions,
  ): Promise<JobHandle<unknown>>;
  /** Extends the leases now; false when this one is lost. */
  renew(attempt: Attempt): Promise<boolean>;
  readonly files: FilePort;
  readonly logger: Logger;
}

const maxLines = 1_000;
const progressEveryMs = 1_000;
/** A line is cut at 8 KB, and cut JSON is none: 6 bytes a character at most, as `\\u0000`. */
const longestNote = 1_000;

/** Members are made on first use: a handler that looks at nothing but its input pays for nothing else. */
export class AttemptContext implements JobContext<unknown> {
  readonly input: unknown;
  readonly attempt: number;
  readonly #attempt: Attempt;
  readonly #ports: ContextPorts;
  #facts: JobFacts | null = null;
  #log: Logger | null = null;
  #files: AttemptFiles | null = null;
  #seq = 0;
  #progressAt = Number.NEGATIVE_INFINITY;
  #pendingProgress: string | null = null;

  constructor(attempt: Attempt, input: unknown, ports: ContextPorts) {
    this.input = input;
    this.attempt = attempt.job.attempts + 1;
    this.#attempt = attempt;
    this.#ports = ports;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get job(): JobFacts {
    const { id, name, queue, priority, maxAttempts, createdAtMs, dueAtMs } = this.#attempt.job;
    this.#facts ??= {
      id,
      name,
      queue,
      priority,
      maxAttempts,
      createdAt: new Date(createdAtMs),
      dueAt: new Date(dueAtMs),
    };
    return this.#facts;
  }

  get files(): AttemptFiles {
    this.#files ??= new AttemptFiles(this.#attempt, this.#ports.files);
    return this.#files;
  }

  get log(): Logger {
    this.#log ??= {
      debug: (message, fields) => this.#write('debug', message, fields),
      info: (message, fields) => this.#write('info', message, fields),
      warn: (message, fields) => this.#write('warn', message, fields),
      error: (message, fields) => this.#write('error', message, fields),
    };
    return this.#log;
  }

  progress = (done: number, total?: number, note?: string): void => {
    const text = JSON.stringify({
      done: finite(done),
      total: finite(total),
      note: note === undefined ? undefined : textOf(note).slice(0, longestNote),
    });
    const now = performance.now();
    if (now - this.#progressAt < progressEveryMs) {
      this.#pendingProgress = text;
      this.#attempt.hasLogged = true;
      return;
    }
    this.#progressAt = now;
    this.#pendingProgress = null;
    this.#send('progress', 'info', text);
  };

  heartbeat = (): Promise<boolean> => this.#ports.renew(this.#attempt);

  dispatch = ((job, input, options) =>
    this.#ports.dispatch(job as JobDefinition, input, options)) as JobContext<unknown>['dispatch'];

  settleIn = (tx: UserTransaction, value?: unknown): Promise<void> =>
    settleWithin(this.#attempt, this.#ports, { tx, value });

  settleInSync = (tx: SyncUserTransaction, value?: unknown): void =>
    settleWithinSync(this.#attempt, this.#ports, { tx, value });

  snooze(delay: Duration): Outcome {
    return snooze(delay);
  }

  cancel(reason?: string): Outcome {
    return cancel(reason);
  }

  /** The last progress is always stored, even within a second of the one before. */
  finish(): void {
    if (this.#pendingProgress !== null) this.#send('progress', 'info', this.#pendingProgress);
    this.#pendingProgress = null;
  }

  #write(level: NewLogLine['level'], message: string, fields?: LogFields): void {
    const { id, name } = this.#attempt.job;
    const text = textOf(message);
    this.#ports.logger[level](text, { job: id, name, ...fields });
    this.#send('log', level, fields === undefined ? text : `${text} ${fieldsText(fields)}`);
  }

  #send(kind: NewLogLine['kind'], level: NewLogLine['level'], text: string): void {
    if (this.#seq >= maxLines) return;
    this.#seq += 1;
    this.#attempt.hasLogged = true;
    this.#ports.log({
      id: this.#attempt.job.id,
      token: this.#attempt.job.token,
      seq: this.#seq,
      kind,
      level,
      text,
    });
  }
}

/** Handlers written in JavaScript log anything. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '[text could not be written]';
  }
}

const finite = (value: number | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;

function fieldsText(fields: LogFields): string {
  try {
    return JSON.stringify(fields, (_, value: unknown) =>
      value instanceof Error ? describeFailure(value) : typeof value === 'bigint' ? String(value) : value,
    );
  } catch {
    // A cyclic field or a getter that throws costs its fields, never the line or the job.
    return '[fields could not be written]';
  }
}
