import { describeValue } from './describe-value.js';
import { MillraceError } from './errors.js';
import type { Setting } from './setting-kinds.js';

const none = 'none';

/** Where something answers over HTTP: an address without user, query or fragment; null for none. */
export function webAddressSetting(about: {
  readonly env: string;
  readonly meaning: string;
}): Setting<string | null, 'text'> {
  const expected = 'none, or an address as in http://10.0.0.5:8000, without user, query and fragment';
  return {
    env: about.env,
    meaning: about.meaning,
    default: null,
    unit: 'text',
    expected,
    format: (value) => value ?? none,
    parse(raw) {
      if (raw === null || (typeof raw === 'string' && raw.trim().toLowerCase() === none)) return null;
      const address = typeof raw === 'string' ? webAddress(raw.trim()) : null;
      // What was given may hold a password: only what kind of thing it is is told.
      if (address === null) {
        const got = typeof raw === 'string' ? 'a text that is none' : describeValue(raw);
        throw new MillraceError('option-invalid', `expected ${expected}, got ${got}`);
      }
      return address;
    },
  };
}

/** Without a slash at its end; null for what is no such address. */
function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain ? url.href.replace(/\/+$/, '') : null;
}
