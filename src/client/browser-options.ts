import { describeValue } from '../internal/describe-value.js';
import type { NewCookie } from './browser-tab.js';
import { OptionProblems } from './option-problems.js';

/** How the page of a job appears to the sites it visits. Holds for its first page, not for windows that this opens. */
export interface BrowserOptions {
  /** In CSS pixels. `scale`: of a dense screen; `mobile`: as a telephone lays out. @default 800 × 600, scale 1 */
  readonly viewport?: {
    readonly width: number;
    readonly height: number;
    readonly scale?: number;
    readonly mobile?: boolean;
  };
  /** As in `de-DE`: of the page and of what it asks for by `Accept-Language`. @default that of Chrome */
  readonly locale?: string;
  /** As in `Europe/Berlin`. @default that of the worker */
  readonly timeZone?: string;
  /** @default that of Chrome, which says that it is headless */
  readonly userAgent?: string;
  /** Sent with every request of the page, to whatever site. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly NewCookie[];
  /** Granted without a question, by their names in the protocol: `geolocation`, `notifications`, `clipboardReadWrite`. */
  readonly permissions?: readonly string[];
  /** Addresses that are not loaded, with `*` for any text. */
  readonly blockUrls?: readonly string[];
}

/** What a job has of them: the same for each, or worked out of its input. */
export type BrowserOption<Parsed> = BrowserOptions | ((input: Parsed) => BrowserOptions);

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isSize = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 10_000;

function isViewport(value: unknown): boolean {
  const { width, height, scale = 1, mobile = false } = (value ?? {}) as Record<string, unknown>;
  const isScale = typeof scale === 'number' && scale > 0 && scale <= 10;
  return isSize(width) && isSize(height) && isScale && typeof mobile === 'boolean';
}

function isTimeZone(value: unknown): boolean {
  try {
    return isText(value) && Intl.DateTimeFormat('en', { timeZone: value as string }) !== null;
  } catch {
    // Not one that is known.
    return false;
  }
}

function isLocale(value: unknown): boolean {
  try {
    return isText(value) && Intl.getCanonicalLocales(value as string).length === 1;
  } catch {
    // Not of the form of one.
    return false;
  }
}

const isHeaders = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((text) => typeof text === 'string');

const isCookies = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (cookie: Partial<NewCookie> | null) =>
      isText(cookie?.name) &&
      typeof cookie?.value === 'string' &&
      (isText(cookie.url) || isText(cookie.domain)),
  );

const forms: Readonly<Record<keyof BrowserOptions, readonly [(value: unknown) => boolean, string]>> = {
  viewport: [isViewport, 'an object with width and height from 1 to 10000, and scale and mobile if wanted'],
  locale: [isLocale, 'a language such as de-DE'],
  timeZone: [isTimeZone, 'a time zone such as Europe/Berlin'],
  userAgent: [isText, 'a text'],
  headers: [isHeaders, 'an object of texts by the names of headers'],
  cookies: [isCookies, 'a list of cookies with name, value, and url or domain'],
  permissions: [isTexts, 'a list of names of permissions'],
  blockUrls: [isTexts, 'a list of addresses'],
};

/** @throws MillraceError `option-unknown`, `option-invalid` with every problem */
export function parseBrowserOptions(value: unknown): BrowserOptions {
  const problems = new OptionProblems('option "browser"');
  const given = problems.takeObject(value);
  problems.checkKeys(given, Object.keys(forms), 'browser.');
  for (const [name, [fits, expected]] of Object.entries(forms)) {
    const each = given[name];
    if (each !== undefined && !fits(each))
      problems.add(`option "browser.${name}": expected ${expected}, got ${describeValue(each)}`);
  }
  problems.throwIfAny();
  return given as BrowserOptions;
}

/** By which the context of a job in a browser lane takes them, before its handler runs. */
export const dressBrowser: unique symbol = Symbol.for('millrace.dress-browser') as never;

/** What a browser lane adds for that. */
export interface DressesBrowser {
  [dressBrowser](options: BrowserOptions): Promise<void>;
}
