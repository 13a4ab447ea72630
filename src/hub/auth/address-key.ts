import { isIP } from 'node:net';

/** Under what an address is counted: IPv4 by itself, IPv6 by its network of 64 bits, which one machine has all of. */
export function addressKey(address: string): string {
  const bare = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
  if (isIP(bare) !== 6) return bare;
  const [head = '', tail] = (bare.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array<string>(Math.max(8 - left.length - right.length, 0)).fill('0');
  return `${[...left, ...zeros, ...right]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}
