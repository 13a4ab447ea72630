/*
 * One session with the server, opened by the first call and again by the first call after it was lost.
 *
 * Work is done one piece after the other, in the order of the calls: a statement, or a whole transaction. Every
 * statement has a deadline; one that misses it takes the session with it, since nobody knows what it is still doing.
 * What waited behind it goes on with a new session. Deadlocks, lock timeouts and serialization failures are tried again
 * here, a statement by itself or the whole transaction; everything else is the caller's to repeat.
 *
 * An idle session does not keep the process alive: a program that has dispatched ends when it has nothing else to do.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { QueryArrayConfig } from 'pg';
import { formatDuration } from '../../internal/duration.js';
import { MillraceError } from '../../internal/errors.js';
import type { Logger } from '../../internal/logger.js';
import { type Client, connect } from './driver.js';
import { endsConnection, fromDriver, isConflict, speaksOfPooler, speaksOfStalePlan } from './errors.js';
import type { Executor, Row, Statement } from './statement.js';

export interface ConnectionOptions {
  readonly url: string;
  readonly prepare: boolean;
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
}

const conflictTries = 10;
const conflictPauseMs = 200;
/** The values as the server wrote them: each statement's own code converts what it needs. */
const rawTypes = { getTypeParser: () => (text: unknown) => text };

const begin: Statement = { name: 'millrace_begin', text: 'begin isolation level read committed' };
const commit: Statement = { name: 'millrace_commit', text: 'commit' };
const rollback: Statement = { name: 'millrace_rollback', text: 'rollback' };

export class Connection implements Executor {
  readonly #options: ConnectionOptions;
  #prepare: boolean;
  #client: Client | null = null;
  #opening: Promise<Client> | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;
  readonly #onOpen: (() => void)[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#prepare = options.prepare;
  }

  /** Called with each new session, and when tables are missed: what is remembered may be of others that had these names. */
  onOpen(listener: () => void): void {
    this.#onOpen.push(listener);
  }

  /** A pooler without sessions stands before the server, as told or as found. */
  get isPooled(): boolean {
    return !this.#prepare;
  }

  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#inTurn(statement.name, () => this.#retried(() => this.#execute(statement, values)));
  }

  /** Runs `work` in one transaction; it may be run again from its beginning after a conflict. */
  transaction<T>(name: string, work: (tx: Executor) => Promise<T>): Promise<T> {
    return this.#inTurn(name, () => this.#retried(() => this.#transact(work)));
  }

  /** Ends the session within a bounded time, after the work at hand or, when that takes too long, under it. */
  async close(graceMs = 2_000): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const giveUp = new AbortController();
    await Promise.race([
      this.#tail.catch(() => undefined),
      pause(graceMs, undefined, { signal: giveUp.signal }).catch(() => undefined),
    ]);
    giveUp.abort();
    const client = this.#client;
    this.#client = null;
    client?.holdProcess(true);
    await client?.end();
  }

  #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(name));
    if (this.#waiting === 0) return this.#keepTurn(work());
    const since = performance.now();
    const turn = this.#tail.then(() => {
      if (this.#closed) throw closedError(name);
      this.#refuseLate(name, since);
      return work();
    });
    return this.#keepTurn(turn);
  }

  #keepTurn<T>(turn: Promise<T>): Promise<T> {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#client?.holdProcess(true);
    const done = (): void => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#client?.holdProcess(false);
    };
    this.#tail = turn.then(done, done);
    return turn;
  }

  /** Two deadlines: a statement that misses its own must not take along what waits behind it. */
  #refuseLate(name: string, since: number): void {
    const waitedMs = performance.now() - since;
    if (waitedMs <= 2 * this.#options.statementTimeoutMs) return;
    throw new MillraceError(
      'deadline-exceeded',
      `PostgreSQL, ${name}: its turn did not come within ${formatDuration(waitedMs)}`,
      { details: { doing: name, waitedMs } },
    );
  }

  async #retried<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (error === again && attempt < conflictTries) continue;
        if (!isConflict(error) || attempt >= conflictTries || this.#closed) throw error;
        this.#options.logger.debug('postgres: conflict, trying again', { attempt, error });
        await pause(Math.random() * Math.min(conflictPauseMs, 5 * 2 ** attempt));
      }
    }
  }

  async #transact<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const client = await this.#connected();
    const run = (statement: Statement, values: readonly unknown[] = []): Promise<Row[]> =>
      this.#send(client, statement, values);
    await run(begin);
    try {
      const answer = await work({ run });
      await run(commit);
      return answer;
    } catch (error) {
      if (this.#client === client) await run(rollback).catch(() => this.#drop(client));
      throw error;
    }
  }

  async #execute(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#send(this.#client ?? (await this.#connected()), statement, values);
  }

  async #send(client: Client, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const { statementTimeoutMs } = this.#options;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#drop(client);
    }, statementTimeoutMs);
    try {
      const query = {
        text: statement.text,
        values: values as unknown[],
        rowMode: 'array' as const,
        types: rawTypes,
      };
      return await rowsOf(
        client,
        this.#prepare && values.length > 0 ? { name: statement.name, ...query } : query,
      );
    } catch (cause) {
      throw isLate
        ? lateError(statement.name, statementTimeoutMs, cause)
        : this.#judge(client, cause, statement.name);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What an error means for the session, and what the caller is told. */
  #judge(client: Client, cause: unknown, doing: string): unknown {
    if (this.#prepare && speaksOfPooler(cause)) {
      this.#giveUpSession();
      this.#drop(client);
      return again;
    }
    if (speaksOfStalePlan(cause)) {
      this.#drop(client);
      return again;
    }
    const error = fromDriver(cause, doing);
    if (error.code === 'schema-missing') for (const forget of this.#onOpen) forget();
    if (endsConnection(error)) this.#drop(client);
    return error;
  }

  #giveUpSession(): void {
    this.#prepare = false;
    this.#options.logger.warn(
      'postgres: a pooler without sessions stands before the server; going on without prepared statements. Set prepare: false to say so at once',
    );
  }

  #connected(): Promise<Client> {
    if (this.#client !== null) return Promise.resolve(this.#client);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #open(): Promise<Client> {
    const { url, statementTimeoutMs, logger } = this.#options;
    try {
      const client = await connect({ url, ownSession: this.#prepare, statementTimeoutMs });
      const forget = (): void => {
        if (this.#client !== client) return;
        this.#client = null;
        logger.warn('postgres: connection lost');
      };
      client.pg.on('error', forget);
      client.pg.on('end', forget);
      this.#client = client;
      for (const forget of this.#onOpen) forget();
      return client;
    } catch (cause) {
      if (this.#prepare && speaksOfPooler(cause)) {
        this.#giveUpSession();
        return this.#open();
      }
      throw fromDriver(cause, 'connecting');
    }
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = null;
    client.drop();
  }
}

/** Thrown inside to try the same piece of work again with a new session. */
const again = new Error('try again');

const closedError = (name: string): MillraceError =>
  new MillraceError('closed', `PostgreSQL, ${name}: expected an open storage, got a call after close()`);

const lateError = (name: string, ms: number, cause: unknown): MillraceError =>
  new MillraceError(
    'deadline-exceeded',
    `PostgreSQL, ${name}: no answer within ${formatDuration(ms)}; the connection was dropped`,
    {
      cause,
      details: { doing: name, deadlineMs: ms },
    },
  );

/**
 * With a callback, not with the promise that the driver would make: through that the texts of every statement and answer,
 * 100 KB an exchange, outlive the young generation [measured: 8 to 25 MB of garbage at any time].
 */
function rowsOf(client: Client, query: QueryArrayConfig<unknown[]>): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    client.pg.query<(string | null)[], unknown[]>(query, (error, result) => {
      // The driver's types have no error, but it hands null or the error that ended the statement.
      if ((error as Error | null) === null) resolve(result.rows);
      else reject(error);
    });
  });
}
