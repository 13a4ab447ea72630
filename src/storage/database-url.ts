import { MillraceError } from '../internal/errors.js';
import { maskUrl } from '../internal/logger.js';

/** A database address, understood. */
export type DatabaseUrl =
  | { readonly engine: 'memory' }
  | { readonly engine: 'sqlite'; readonly file: string; readonly synchronous: 'FULL' | 'NORMAL' | undefined }
  | {
      readonly engine: 'postgres';
      readonly url: string;
      readonly schema: string | undefined;
      readonly prepare: boolean | undefined;
    }
  | { readonly engine: 'mysql'; readonly url: string; readonly tablePrefix: string | undefined };

const forms = 'sqlite:<file>, postgres://…, mysql://… or memory:';
const identifierPattern = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

/**
 * Reads `memory:`, `sqlite:<file>[?synchronous=NORMAL]`, `postgres://…[?schema=name&prepare=false]` (also
 * `postgresql:`) and `mysql://…[?tablePrefix=name_]` (also `mariadb:`). Passwords never show in its messages.
 *
 * @throws MillraceError `database-url-invalid`
 */
export function parseDatabaseUrl(address: unknown): DatabaseUrl {
  if (typeof address !== 'string') throw invalid(forms, typeof address);
  const text = address.trim();
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case 'memory':
      if (text.length > 'memory:'.length) throw invalid('memory: with nothing behind it', text);
      return { engine: 'memory' };
    case 'sqlite':
      return sqliteUrl(text);
    case 'postgres':
    case 'postgresql': {
      const { url, own } = serverUrl(text, ['schema', 'prepare']);
      const schema = identifier(own, 'schema', text);
      return { engine: 'postgres', url, schema, prepare: flag(own, 'prepare', text) };
    }
    case 'mysql':
    case 'mariadb': {
      const { url, own } = serverUrl(text.replace(/^mariadb:/i, 'mysql:'), ['tablePrefix']);
      return { engine: 'mysql', url, tablePrefix: identifier(own, 'tablePrefix', text) };
    }
    default:
      throw invalid(forms, text, likelyFile(text) ? `For a SQLite file, write sqlite:${text}` : undefined);
  }
}

function sqliteUrl(text: string): DatabaseUrl {
  const [file = '', query, ...rest] = text.slice('sqlite:'.length).split('?');
  if (file === ':memory:') {
    throw invalid(
      'a file, which other processes and a restart can find',
      text,
      'For jobs that live as long as this process, write memory:',
    );
  }
  if (file === '') throw invalid('sqlite:<file>', text, 'Name the file, as in sqlite:millrace.db');
  if (file.startsWith('//')) {
    const path = file.replace(/^\/+/, file.startsWith('///') ? '/' : '');
    throw invalid('sqlite:<file> without slashes in front', text, `Write sqlite:${path || 'millrace.db'}`);
  }
  return { engine: 'sqlite', file, synchronous: synchronousOf([query ?? '', ...rest].join('?'), text) };
}

function synchronousOf(query: string, text: string): 'FULL' | 'NORMAL' | undefined {
  for (const [key, value] of new URLSearchParams(query)) {
    const wanted = value.toUpperCase();
    if (key === 'synchronous' && (wanted === 'FULL' || wanted === 'NORMAL')) return wanted;
    throw invalid('no other parameter than synchronous=FULL or synchronous=NORMAL', text);
  }
  return undefined;
}

/** A server's address, and the parameters of ours that its driver must not see. */
function serverUrl(text: string, ours: readonly string[]): { url: string; own: Map<string, string> } {
  // With nothing behind it the driver would log in as whoever runs the process, wherever that leads.
  if (!/^[a-z]+:\/\/[^?#]*[^/?#]/i.test(text) || !URL.canParse(text) || !isDecodable(text)) {
    throw invalid(
      `${/^[a-z]+/i.exec(text)?.[0]}://user:password@host:port/database`,
      text,
      'Characters such as @ / : # in a user or password are written as %40 %2F %3A %23',
    );
  }
  const [base = '', query = ''] = text.split('?', 2);
  const parameters = new URLSearchParams(query);
  const own = new Map<string, string>();
  for (const name of ours) {
    const value = parameters.get(name);
    if (value === null) continue;
    own.set(name, value);
    parameters.delete(name);
  }
  if (own.size === 0) return { url: text, own };
  return { url: parameters.size === 0 ? base : `${base}?${parameters}`, own };
}

/** A % that begins no escape would fail later, in the driver. */
function isDecodable(text: string): boolean {
  const { username, password, pathname } = new URL(text);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    // A URIError, which says no more than that.
    return false;
  }
}

function identifier(own: ReadonlyMap<string, string>, name: string, text: string): string | undefined {
  const value = own.get(name);
  if (value === undefined || identifierPattern.test(value)) return value;
  throw invalid(`${name} as 1 to 40 letters, digits and _, not a digit first`, text);
}

function flag(own: ReadonlyMap<string, string>, name: string, text: string): boolean | undefined {
  const value = own.get(name);
  if (value === undefined) return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalid(`${name}=true or ${name}=false`, text);
}

function likelyFile(text: string): boolean {
  return /\.(?:db|sqlite3?)$/i.test(text) || text.startsWith('./') || text.startsWith('/');
}

/** What can't be understood may be a password anywhere before its last @. */
function withoutLogin(text: string): string {
  const masked = maskUrl(text);
  return masked === text ? text.replace(/^([a-z]*:?(?:\/\/)?).*@/is, '$1***@') : masked;
}

function invalid(expected: string, got: string, fix?: string): MillraceError {
  const shown = withoutLogin(got);
  return new MillraceError(
    'database-url-invalid',
    `database address: expected ${expected}, got "${shown}"${fix === undefined ? '' : `. ${fix}`}`,
    { details: { got: shown } },
  );
}
