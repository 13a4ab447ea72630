import { Socket } from 'node:net';
import type pg from 'pg';
import { MillraceError } from '../../internal/errors.js';

/** How long making a connection may take, login included. */
export const connectTimeoutMs = 10_000;
const leastConnectMs = 2_000;
/** TCP keep-alive starts after so long without traffic. */
const keepAliveAfterMs = 10_000;
/** How long a polite goodbye may take before the socket is dropped. */
const endTimeoutMs = 2_000;

/**
 * What a session of ours is told when it is its own (no pooler). Insurance for plans that are kept prepared: one made
 * while a table was empty must still read the index when a million rows have come. `jit` would compile statements whose
 * cost is misjudged, for tens of milliseconds each. Planning anew for each array of parameters costs a claim under limits
 * 1.1 ms of 3.6 [measured], and the plan is the same.
 */
const sessionSettings = [
  'jit=off',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'plan_cache_mode=force_generic_plan',
];

export interface ConnectOptions {
  readonly url: string;
  /** Session settings may be sent. */
  readonly ownSession: boolean;
  /** 0 = none. The server gives up a little later than we do, so that nothing runs on for ever after we left. */
  readonly statementTimeoutMs: number;
}

/** A connected client that can be dropped at once. */
export interface Client {
  readonly pg: pg.Client;
  /** Whether the connection keeps the process alive; a new one does. */
  holdProcess(holds: boolean): void;
  /** Ends politely, within a bounded time. */
  end(): Promise<void>;
  /** Ends at once; what is in flight fails. */
  drop(): void;
}

type Driver = typeof pg;

/** @throws MillraceError `driver-missing` */
export async function loadDriver(): Promise<Driver> {
  try {
    const module = (await import('pg')) as unknown as { default?: Driver } & Driver;
    return module.default ?? module;
  } catch (cause) {
    throw new MillraceError(
      'driver-missing',
      'PostgreSQL: the package pg is not installed or cannot be loaded. Run: npm install pg',
      { cause },
    );
  }
}

/** @throws MillraceError `driver-missing`, `database-unreachable`, `database-access-denied`, `database-not-found` */
export async function connect(options: ConnectOptions): Promise<Client> {
  const driver = await loadDriver();
  const socket = new Socket();
  const client = new driver.Client({
    connectionString: withSettings(options),
    stream: () => socket,
    connectionTimeoutMillis: connectWithinMs(options.statementTimeoutMs),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    application_name: 'millrace',
  });
  // A connection that breaks while nobody waits for it is found by its owner's own listener or its next statement.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return {
    pg: client,
    holdProcess: (holds) => (holds ? referable(client).ref() : referable(client).unref()),
    end: () => endPolitely(client, socket),
    drop: () => socket.destroy(),
  };
}

/** No longer than one statement may take: leases are lost while a connection is waited for that never comes. */
function connectWithinMs(statementTimeoutMs: number): number {
  if (statementTimeoutMs <= 0) return connectTimeoutMs;
  return Math.min(connectTimeoutMs, Math.max(statementTimeoutMs, leastConnectMs));
}

/** The driver has both methods, which its types don't know; over TLS they reach the right socket. */
function referable(client: pg.Client): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void };
}

function withSettings({ url, ownSession, statementTimeoutMs }: ConnectOptions): string {
  if (!ownSession) return url;
  const address = new URL(url);
  const settings = sessionSettings.map((setting) => `-c ${setting}`);
  if (statementTimeoutMs > 0) settings.push(`-c statement_timeout=${Math.ceil(statementTimeoutMs * 1.5)}`);
  const given = address.searchParams.get('options');
  address.searchParams.set('options', [...settings, ...(given === null ? [] : [given])].join(' '));
  return address.href;
}

async function endPolitely(client: pg.Client, socket: Socket): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, endTimeoutMs);
  });
  try {
    await Promise.race([client.end(), tooLong]);
  } catch {
    // The connection was gone already, which is what was wanted.
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
