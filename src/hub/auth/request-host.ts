import { isIP } from 'node:net';

/*
 * Which names a hub answers to. A page of the web can give its own name the address of a hub that its visitor can
 * reach (DNS rebinding), and then its scripts are of the same origin as the hub for the browser. What gives it away is
 * the Host header, which has the page's name. So a hub answers only to names that are its own: those of loopback, the
 * one it listens on, and those of the setting. Beyond loopback it also answers to any bare address: an attacker has
 * names to hand out, but a page under an address was served from that address.
 */

export interface HostRules {
  /** What the hub listens on. */
  readonly listenHost: string;
  /** Of the setting: names, with or without a port. */
  readonly allowedHosts: readonly string[];
}

interface HostParts {
  readonly name: string;
  readonly port: string;
}

/** Whether an address is of this machine: 127.0.0.0/8, ::1, also as an IPv4 address within IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const bare = address.startsWith('::ffff:') ? address.slice(7) : address;
  return bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

/** Whether a name or address to listen on can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name);
}

/** Whether the hub answers to this value of a Host header. */
export function isHostAllowed(header: string | undefined, rules: HostRules): boolean {
  const host = parseHost(header);
  if (host === null) return false;
  if (isLoopbackHost(host.name) || host.name === rules.listenHost.toLowerCase()) return true;
  if (isListed(host, rules.allowedHosts)) return true;
  return !isLoopbackHost(rules.listenHost) && isIP(host.name) !== 0;
}

export interface OriginFacts {
  /** The Origin header; undefined where none was sent, as by what is no browser. */
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** The Sec-Fetch-Site header, which a page can't forge. */
  readonly fetchSite: string | undefined;
}

/** Whether what was asked for can't be the doing of a page of somebody else. */
export function isOriginAllowed(facts: OriginFacts, rules: HostRules): boolean {
  const { origin, host, fetchSite } = facts;
  if (origin === undefined) return fetchSite === undefined || ['same-origin', 'none'].includes(fetchSite);
  const [, authority] = /^https?:\/\/([^/?#]+)$/.exec(origin.toLowerCase()) ?? [];
  const from = parseHost(authority);
  if (from === null) return false;
  return authority === host?.toLowerCase() || isListed(from, rules.allowedHosts);
}

function isListed({ name, port }: HostParts, allowed: readonly string[]): boolean {
  return allowed.some((entry) => {
    const listed = parseHost(entry);
    return listed?.name === name && (listed.port === '' || listed.port === port);
  });
}

/** Name (without brackets and the dot of the root) and port; null for what is neither. */
export function parseHost(header: string | undefined): HostParts | null {
  const [, bracketed, plain, port = ''] =
    /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]+))(?::(\d{1,5}))?$/.exec(header?.toLowerCase() ?? '') ?? [];
  const name = bracketed ?? plain?.replace(/\.$/, '');
  return name === undefined || name === '' ? null : { name, port };
}
