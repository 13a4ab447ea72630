/*
 * What a page of a browser lane may reach. An address is judged twice: as it is written, before anything is done with it
 * (`refusalOfUrl`: what is asked for by a person or a job gets a clear answer at once), and as it is connected to, by the proxy
 * that all traffic of a Chrome goes through (`refusalOfAddress`): only that knows what a name stands for.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { PrivateTargets } from '../../internal/private-targets.js';
import { bareHost, isPublicAddress, plainAddress } from '../../internal/public-address.js';

/** Where something of ours listens: pages reach it under no setting. */
export interface ClosedDoor {
  /** A name or an address. */
  readonly host: string;
  readonly port: number;
}

export interface TargetPolicyOptions {
  /** @default none */
  readonly privateTargets?: PrivateTargets;
  readonly closed?: readonly ClosedDoor[];
}

const schemes: ReadonlySet<string> = new Set(['http:', 'https:']);
/** They have no host, and show what who opens them gives. */
const hostless: ReadonlySet<string> = new Set(['about:', 'data:', 'blob:']);

export class TargetPolicy {
  readonly #private: PrivateTargets;
  readonly #closed: ClosedDoor[];

  constructor({ privateTargets = PrivateTargets.none, closed = [] }: TargetPolicyOptions = {}) {
    this.#private = privateTargets;
    this.#closed = closed.map(({ host, port }) => ({ host: bareHost(host), port }));
  }

  close(door: ClosedDoor): void {
    this.#closed.push({ host: bareHost(door.host), port: door.port });
  }

  /** Those that listen on this port: a name among them has to be resolved to be compared. */
  closedOn(port: number): readonly string[] {
    return this.#closed.filter((door) => door.port === port).map(({ host }) => host);
  }

  /** Why this address may not be opened, in words; null: it may, as far as its text tells. */
  refusalOfUrl(url: URL): string | null {
    if (hostless.has(url.protocol)) return null;
    if (!schemes.has(url.protocol)) return `${url.protocol} addresses are not opened, only http: and https:`;
    const host = bareHost(url.hostname);
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    if (isIP(host) !== 0) return this.refusalOfAddress({ host, port, address: host }, this.closedOn(port));
    const isLocal = host === 'localhost' || host.endsWith('.localhost');
    if (isLocal && !this.#private.allow(host, '127.0.0.1', port) && !this.#private.allow(host, '::1', port))
      return privateWords(host);
    return null;
  }

  /** Why this address of a host may not be connected to. `closed`: the addresses of what `closedOn` named. */
  refusalOfAddress(
    {
      host,
      port,
      address: given,
    }: { readonly host: string; readonly port: number; readonly address: string },
    closed: readonly string[],
  ): string | null {
    const address = plainAddress(given);
    if (closed.some((door) => isSameMachine(door, address)))
      return `port ${port} there is one of this system’s own`;
    if (isPublicAddress(address) || this.#private.allow(host, address, port)) return null;
    return privateWords(host === given ? address : `${host} (${address})`);
  }
}

const privateWords = (what: string): string => `${what} is not of the public internet`;

/** Every address of this machine is the same door. */
function isSameMachine(a: string, b: string): boolean {
  return a === b || (isOwn(a) && isOwn(b));
}

function isOwn(address: string): boolean {
  if (address === 'localhost' || address === '0.0.0.0' || address === '::') return true;
  if (address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.')) return true;
  return Object.values(networkInterfaces()).some(
    (list) => list?.some((one) => one.address === address) ?? false,
  );
}
