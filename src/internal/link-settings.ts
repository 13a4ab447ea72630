import { describeValue } from './describe-value.js';
import { MillraceError } from './errors.js';
import type { Setting } from './setting-kinds.js';

interface Described {
  readonly env: string;
  readonly meaning: string;
}

const none = 'none';
const mostHubs = 20;
const longestSecret = 200;
const noHubs: readonly string[] = Object.freeze([]);

/** Addresses of hubs, with commas or as a list; as `ws://` or `wss://` without a slash at the end. */
export function hubUrlSetting({ env, meaning }: Described): Setting<readonly string[], 'list'> {
  const expected = `none, or addresses of hubs as in ws://host:8000,wss://other: at most ${mostHubs}, without user, password and query`;
  return {
    env,
    meaning,
    default: noHubs,
    unit: 'list',
    expected,
    format: (urls) => urls.join(',') || none,
    parse(raw) {
      const urls = parseHubUrls(raw);
      if (urls === null) throw refused(expected, raw);
      return urls;
    },
  };
}

/** A text that is shown to nobody. `none` is the empty one. */
export function secretSetting({ env, meaning }: Described): Setting<string, 'text'> {
  const expected = `a text of 1 to ${longestSecret} printable characters`;
  return {
    env,
    meaning,
    default: '',
    unit: 'text',
    expected,
    format: (secret) => (secret === '' ? none : '(set, not shown)'),
    parse(raw) {
      if (raw === none || raw === '') return '';
      if (typeof raw === 'string' && raw.length <= longestSecret && /^[\x21-\x7e]+$/.test(raw.trim())) {
        return raw.trim();
      }
      // What was given may be nearly the secret, so it is not repeated.
      throw new MillraceError('option-invalid', `expected ${expected}, got something else`);
    },
  };
}

/** Null where it holds anything else. */
export function parseHubUrls(raw: unknown): readonly string[] | null {
  if (typeof raw === 'string' && raw.trim().toLowerCase() === none) return noHubs;
  const parts: unknown[] | null = typeof raw === 'string' ? raw.split(',') : Array.isArray(raw) ? raw : null;
  if (parts === null || parts.length > mostHubs) return null;
  const urls = parts.map(parseHubUrl);
  return urls.some((url) => url === null) ? null : Object.freeze([...new Set(urls as string[])]);
}

const schemes: Readonly<Record<string, string>> = {
  'ws:': 'ws:',
  'wss:': 'wss:',
  'http:': 'ws:',
  'https:': 'wss:',
};

function parseHubUrl(raw: unknown): string | null {
  if (typeof raw !== 'string' || !URL.canParse(raw.trim())) return null;
  const url = new URL(raw.trim());
  const scheme = schemes[url.protocol];
  if (scheme === undefined || url.hostname === '') return null;
  // A token belongs into the first message, never into an address, which proxies and logs keep.
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return null;
  return `${scheme}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
}

function refused(expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', `expected ${expected}, got ${describeValue(got)}`);
}
