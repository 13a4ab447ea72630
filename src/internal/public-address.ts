import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/**
 * Not of the public internet: IANA's special-purpose registries for IPv4 and IPv6 (RFC 6890), with multicast and what is
 * reserved. Of IPv6 only 2000::/3 is given out at all.
 */
const special4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const special6: readonly (readonly [string, number])[] = [
  // Teredo, benchmarks, ORCHID and the rest of the block for protocols; then documentation, 6to4 and documentation again.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const blocked = new BlockList();
for (const [address, prefix] of special4) blocked.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of special6) blocked.addSubnet(address, prefix, 'ipv6');
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

/** Those that carry an IPv4 address in their last 32 bits: mapped ones, and those of NAT64 as DNS64 answers them. */
const mapped = new BlockList();
mapped.addSubnet('::ffff:0:0', 96, 'ipv6');
const nat64 = new BlockList();
nat64.addSubnet('64:ff9b::', 96, 'ipv6');

/** Whether an address, as a resolver gives it, is one of the public internet. What is no address is not. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !blocked.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  if (mapped.check(address, 'ipv6') || nat64.check(address, 'ipv6'))
    return isPublicAddress(carriedIPv4(address));
  return global6.check(address, 'ipv6') && !blocked.check(address, 'ipv6');
}

/** An IPv4 address that is written as an IPv6 one, as what it is. */
export const plainAddress = (address: string): string =>
  isIPv6(address) && mapped.check(address, 'ipv6') ? carriedIPv4(address) : address;

/** The IPv4 address in the last 32 bits. */
function carriedIPv4(address: string): string {
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  // The form that URLs have writes every group out but for one run of zeros, and the last two are never in it unless zero.
  const { hostname } = new URL(`http://[${address}]`);
  const [high = 0, low = 0] = hostname
    .slice(1, -1)
    .split(':')
    .slice(-2)
    .map((group) => Number.parseInt(group === '' ? '0' : group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The host of a URL or of a request as a bare address or a name: without brackets, without the dot at its end, in small letters. */
export function bareHost(host: string): string {
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIPv6(bare) && !bare.includes('%')) return new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return (isIP(bare) === 0 ? bare.replace(/\.$/, '') : bare).toLowerCase();
}
