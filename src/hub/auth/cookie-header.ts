/** The first value of this name in a Cookie header; null: none. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return null;
}

/** A cookie that only the browser reads and that no other site can make it send. Age 0 takes it away. */
export function sessionCookie(
  name: string,
  value: string,
  options: { maxAgeS: number; isSecure: boolean },
): string {
  const parts = [`${name}=${value}`, `Max-Age=${options.maxAgeS}`, 'Path=/', 'HttpOnly', 'SameSite=Strict'];
  return [...parts, ...(options.isSecure ? ['Secure'] : [])].join('; ');
}
