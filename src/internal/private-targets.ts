/*
 * Which targets that are not of the public internet pages may reach all the same: an operator's setting. `none`, `all`, or a
 * list of names, addresses and networks, each with a port if wanted: `intranet.example, 10.1.0.0/16, localhost:3000, [fd00::1]:8080`.
 */
import { BlockList, isIP } from 'node:net';
import { bareHost } from './public-address.js';

interface Entry {
  /** Null: any. */
  readonly port: number | null;
  readonly matches: (name: string, address: string) => boolean;
}

export class PrivateTargets {
  static readonly none = new PrivateTargets([]);
  readonly #entries: readonly Entry[];

  private constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  /** Null: it is not of that form. */
  static parse(text: string): PrivateTargets | null {
    const words = text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
    if (words.length === 1 && words[0] === 'none') return PrivateTargets.none;
    if (words.length === 1 && words[0] === 'all')
      return new PrivateTargets([{ port: null, matches: () => true }]);
    const entries = words.map(entryOf);
    return words.length === 0 || entries.includes(null) ? null : new PrivateTargets(entries as Entry[]);
  }

  /** `name`: as it was asked for; `address`: one that it stands for. */
  allow(name: string, address: string, port: number): boolean {
    return this.#entries.some((entry) => (entry.port ?? port) === port && entry.matches(name, address));
  }
}

const network = /^(?<address>[^/]+)\/(?<prefix>\d{1,3})$/;
const withPort = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/;
const nameForm = /^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

function entryOf(word: string): Entry | null {
  const { host = word, port: portText } = withPort.exec(word)?.groups ?? {};
  const port = portText === undefined ? null : Number(portText);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  const matches = matcherOf(bareHost(host));
  return matches === null ? null : { port, matches };
}

function matcherOf(host: string): Entry['matches'] | null {
  const { address = host, prefix } = network.exec(host)?.groups ?? {};
  const version = isIP(address);
  if (version === 0) return prefix === undefined && nameForm.test(host) ? (name) => name === host : null;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix);
  if (bits > (version === 4 ? 32 : 128)) return null;
  const list = new BlockList();
  list.addSubnet(address, bits, family);
  return (_, asked) => list.check(asked, isIP(asked) === 4 ? 'ipv4' : 'ipv6');
}
