import { describeValue } from '../../internal/describe-value.js';
import { type Duration, parseDuration } from '../../internal/duration.js';
import { isMillraceError } from '../../internal/errors.js';
import type { BrowserOptions } from '../browser-options.js';
import { parseBrowserOptions } from '../browser-options.js';
import type { GotoOptions, NewCookie, ScreenshotOptions } from '../browser-tab.js';
import { OptionProblems } from '../option-problems.js';
import { type CaptureStep, isStep, stepForm } from './capture-steps.js';

/** What a capture keeps of what the browser received. */
export interface CaptureAssets {
  /** @default image, stylesheet, font, media */
  readonly kinds?: readonly AssetKind[];
  /** Of one, smaller ones are left out. @default 0 */
  readonly minBytes?: number;
  /** Of one, larger ones are named and not kept. @default 8,000,000, at most 14,000,000: what Chrome holds of one */
  readonly maxBytes?: number;
  /** Of all that is kept. @default 100,000,000 */
  readonly maxTotalBytes?: number;
}

export const assetKinds = [
  'document',
  'image',
  'stylesheet',
  'font',
  'media',
  'script',
  'xhr',
  'fetch',
  'other',
] as const;
export type AssetKind = (typeof assetKinds)[number];

/** What `page.capture` is given, and `capturePage`. */
export interface CaptureOptions {
  /** `http` or `https`. */
  readonly url: string;
  /** As of `tab.goto`. @default 'load' */
  readonly waitUntil?: NonNullable<GotoOptions['waitUntil']>;
  /** Also until this selector is visible. */
  readonly waitFor?: string;
  /** For all of it. @default 60 s */
  readonly timeout?: Duration;
  /** To the bottom and back, for what loads late; at most 20,000 pixels and 10 s. @default true */
  readonly scroll?: boolean;
  /** `false`: none. @default the whole page as png */
  readonly screenshot?: false | Pick<ScreenshotOptions, 'of' | 'type' | 'quality'>;
  /** `page.html`, the document as it is then. @default true */
  readonly html?: boolean;
  /** `page.txt`, what a reader sees. @default true */
  readonly text?: boolean;
  /** `links.json`. @default true */
  readonly links?: boolean;
  /** `page.pdf`. @default false */
  readonly pdf?: boolean;
  /** What the page was made of. @default false */
  readonly assets?: boolean | CaptureAssets;
  /** Done one after the other once the page is there, before anything is kept. At most 50. */
  readonly steps?: readonly CaptureStep[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly NewCookie[];
  /** @default 1280 × 800; `phone`: 390 × 844 at scale 3, as a telephone lays out */
  readonly device?: 'desktop' | 'phone' | NonNullable<BrowserOptions['viewport']>;
  /** Addresses that are not loaded, with `*` for any text. */
  readonly blockUrls?: readonly string[];
  /** How the owner of a site reaches you, in the user agent: an address or URL. */
  readonly contact?: string;
}

export interface ResolvedCapture {
  readonly url: string;
  readonly waitUntil: NonNullable<GotoOptions['waitUntil']>;
  readonly waitFor: string | null;
  readonly timeoutMs: number;
  readonly scroll: boolean;
  readonly screenshot:
    | null
    | (Required<Pick<ScreenshotOptions, 'of' | 'type'>> & { readonly quality?: number });
  readonly html: boolean;
  readonly text: boolean;
  readonly links: boolean;
  readonly pdf: boolean;
  readonly assets: Required<CaptureAssets> | null;
  readonly steps: readonly CaptureStep[];
  readonly contact: string | null;
  readonly browser: BrowserOptions;
}

const defaultTimeoutMs = 60_000;
const mostSteps = 50;
const mostAssetBytes = 14_000_000;
const devices = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844, scale: 3, mobile: true },
} as const;
const defaultAssets: Required<CaptureAssets> = {
  kinds: ['image', 'stylesheet', 'font', 'media'],
  minBytes: 0,
  maxBytes: 8_000_000,
  maxTotalBytes: 100_000_000,
};

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isSwitch = (value: unknown): boolean => typeof value === 'boolean';
const isCount = (value: unknown, most: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;

function isWebAddress(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url !== null && ['http:', 'https:'].includes(url.protocol);
}

function isDuration(value: unknown): boolean {
  try {
    return parseDuration(value as Duration, { name: 'timeout', min: 1 }) > 0;
  } catch (error) {
    if (isMillraceError(error)) return false;
    throw error;
  }
}

function isScreenshot(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== 'object' || value === null) return false;
  const { of = 'page', type = 'png', quality = 80, ...others } = value as Record<string, unknown>;
  const isOf = of === 'page' || of === 'viewport' || isText((of as { selector?: unknown } | null)?.selector);
  const isType = type === 'png' || type === 'jpeg' || type === 'webp';
  return isOf && isType && isCount(quality, 100) && quality !== 0 && Object.keys(others).length === 0;
}

function isAssets(value: unknown): boolean {
  if (isSwitch(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const { kinds, minBytes, maxBytes, maxTotalBytes, ...others } = { ...defaultAssets, ...value } as Record<
    string,
    unknown
  >;
  return (
    Array.isArray(kinds) &&
    kinds.every((kind) => assetKinds.includes(kind as AssetKind)) &&
    isCount(minBytes, mostAssetBytes) &&
    isCount(maxBytes, mostAssetBytes) &&
    isCount(maxTotalBytes, Number.MAX_SAFE_INTEGER) &&
    Object.keys(others).length === 0
  );
}

const forms: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  url: [isWebAddress, 'a whole address with http or https'],
  waitUntil: [
    (value) => ['domcontentloaded', 'load', 'quiet'].includes(value as string),
    "'domcontentloaded', 'load' or 'quiet'",
  ],
  waitFor: [isText, 'a selector'],
  timeout: [isDuration, 'a duration such as "30s"'],
  scroll: [isSwitch, 'true or false'],
  screenshot: [
    isScreenshot,
    "false, or an object with of ('page', 'viewport' or { selector }), type ('png', 'jpeg' or 'webp') and quality from 1 to 100",
  ],
  html: [isSwitch, 'true or false'],
  text: [isSwitch, 'true or false'],
  links: [isSwitch, 'true or false'],
  pdf: [isSwitch, 'true or false'],
  assets: [
    isAssets,
    `true, false, or an object with kinds (of ${assetKinds.join(', ')}), minBytes, maxBytes (at most ${mostAssetBytes}) and maxTotalBytes`,
  ],
  steps: [
    (value) => Array.isArray(value) && value.length <= mostSteps && value.every(isStep),
    `a list of at most ${mostSteps} steps: ${stepForm}`,
  ],
  device: [
    (value) => value === 'desktop' || value === 'phone' || typeof value === 'object',
    "'desktop', 'phone', or an object with width and height",
  ],
  contact: [
    (value) => isText(value) && (value as string).length <= 200 && !/[^\x20-\x7e]/.test(value as string),
    'an address or URL in plain letters, at most 200 of them',
  ],
};
/** They are those of `browser` of a job, and checked as these. */
const ofBrowser = ['headers', 'cookies', 'blockUrls'] as const;

/** @throws MillraceError `option-unknown`, `option-invalid` with every problem */
export function resolveCapture(value: unknown): ResolvedCapture {
  const problems = new OptionProblems('capture');
  const given = problems.takeObject(value);
  problems.checkKeys(given, [...Object.keys(forms), ...ofBrowser]);
  if (given['url'] === undefined)
    problems.add('option "url": expected a whole address with http or https, got none');
  for (const [name, [fits, expected]] of Object.entries(forms)) {
    const each = given[name];
    if (each !== undefined && !fits(each))
      problems.add(`option "${name}": expected ${expected}, got ${describeValue(each)}`);
  }
  const browser = problems.attempt(() => parseBrowserOptions(browserOf(given)), {});
  problems.throwIfAny();
  return resolved(given as unknown as CaptureOptions, browser);
}

function browserOf({ device = 'desktop', ...given }: Readonly<Record<string, unknown>>): object {
  // One that is none has been told of by its form.
  const viewport = typeof device === 'object' ? device : devices[device === 'phone' ? 'phone' : 'desktop'];
  const others = ofBrowser.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]));
  return { viewport, ...Object.fromEntries(others) };
}

function resolved(given: CaptureOptions, browser: BrowserOptions): ResolvedCapture {
  const { screenshot = {}, assets = false, timeout, waitUntil = 'load' } = given;
  const { scroll = true, html = true, text = true, links = true, pdf = false, steps = [] } = given;
  return {
    ...{
      url: new URL(given.url).href,
      waitUntil,
      waitFor: given.waitFor ?? null,
      scroll,
      html,
      text,
      links,
      pdf,
      steps,
    },
    timeoutMs:
      timeout === undefined ? defaultTimeoutMs : parseDuration(timeout, { name: 'option "timeout"' }),
    screenshot: screenshot === false ? null : { of: 'page', type: 'png', ...screenshot },
    assets: assets === false ? null : { ...defaultAssets, ...(assets === true ? {} : assets) },
    contact: given.contact ?? null,
    browser,
  };
}
