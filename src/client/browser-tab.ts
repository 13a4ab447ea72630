import type { Duration } from '../internal/duration.js';

/**
 * The page of a job with `lane: 'browser'`, by plain verbs. Selectors are CSS. Each verb waits for what it needs and has a
 * deadline; it ends at once when the attempt is over, the page crashes or its Chrome is gone.
 *
 * @example
 * const search = defineJob('search', {
 *   lane: 'browser',
 *   async run({ tab, input }: BrowserJobContext<{ words: string }>) {
 *     await tab.goto('https://example.com/');
 *     await tab.fill('input[name=q]', input.words);
 *     await tab.press('Enter');
 *     await tab.wait({ selector: '.results' });
 *     return tab.links();
 *   },
 * });
 */
export interface Tab {
  /**
   * Opens an address.
   *
   * @throws MillraceError `page-unreachable`, `deadline-exceeded`, `option-invalid`
   */
  goto(url: string, options?: GotoOptions): Promise<TabLanding>;
  url(): Promise<string>;
  title(): Promise<string>;
  /** The document as it is now, with its doctype. */
  html(): Promise<string>;
  /** What a reader sees: of the page, or of the first element. */
  text(selector?: string): Promise<string>;
  /** Its links with whole addresses, each once. */
  links(): Promise<TabLink[]>;
  /**
   * Runs code in the page: an expression, or a function that knows nothing of what is around it, with one argument. What
   * goes in and comes out is JSON.
   *
   * @throws MillraceError `page-script-failed`
   */
  evaluate<Result = unknown>(expression: string, options?: TabOptions): Promise<Result>;
  evaluate<Argument, Result>(
    code: (argument: Argument) => Result,
    argument: Argument,
    options?: TabOptions,
  ): Promise<Awaited<Result>>;
  evaluate<Result>(code: () => Result): Promise<Awaited<Result>>;
  /** Scrolls to the element and clicks on its middle. @throws MillraceError `page-element-missing` */
  click(selector: string, options?: TabOptions): Promise<void>;
  /** Puts text into a field, in place of what it had. @throws MillraceError `page-element-missing` */
  fill(selector: string, value: string, options?: TabOptions): Promise<void>;
  /** Presses a key where the focus is, such as `Enter`, `a` or `Control+A`; with a selector after it has the focus. */
  press(key: string, options?: TabOptions & { readonly selector?: string }): Promise<void>;
  /** By so many pixels, to the top, step by step to the bottom (which loads what is lazy), or to an element. */
  scroll(to: ScrollTarget, options?: TabOptions): Promise<void>;
  /** Chooses options of a `select` by value or label. @throws MillraceError `page-element-missing` */
  select(selector: string, values: string | readonly string[], options?: TabOptions): Promise<void>;
  /** Waits until this holds. @throws MillraceError `deadline-exceeded` */
  wait(condition: TabCondition, options?: TabOptions): Promise<void>;
  screenshot(options?: ScreenshotOptions): Promise<Buffer>;
  pdf(options?: PdfOptions): Promise<Buffer>;
  /** Those that the present address is sent. */
  cookies(): Promise<TabCookie[]>;
  setCookies(cookies: readonly NewCookie[]): Promise<void>;
}

export interface TabOptions {
  /** @default 30 s */
  readonly timeout?: Duration;
}

export interface GotoOptions extends TabOptions {
  /**
   * `domcontentloaded`: the document is there. `load`: also what it names, or nothing more comes of it. `quiet`: at most two
   * requests ran for half a second. The last two wait at most 15 s longer than the first, and then go on. @default 'load'
   */
  readonly waitUntil?: 'domcontentloaded' | 'load' | 'quiet';
}

/** Where a `goto` has come to. */
export interface TabLanding {
  /** After redirects. */
  readonly url: string;
  /** Of the document; null where it came without HTTP. */
  readonly status: number | null;
  /** What ended the wait; `limit`: 15 s after the document. */
  readonly endedBy: 'domcontentloaded' | 'load' | 'quiet' | 'limit';
}

export interface TabLink {
  readonly url: string;
  /** At most 200 characters. */
  readonly text: string;
  readonly rel: string;
}

export type ScrollTarget =
  | { readonly by: number }
  | { readonly to: 'top' | 'bottom' }
  | { readonly selector: string };

export type TabCondition =
  | { readonly selector: string; readonly state?: 'visible' | 'attached' | 'hidden' }
  /** The page shows this text. */
  | { readonly text: string }
  /** The address has this in it. */
  | { readonly url: string }
  /** An expression that becomes true. */
  | { readonly script: string };

export interface ScreenshotOptions extends TabOptions {
  /** The whole page down to 16,384 pixels, what is in view, or the first element of a selector. @default 'viewport' */
  readonly of?: 'viewport' | 'page' | { readonly selector: string };
  /** @default 'png' */
  readonly type?: 'png' | 'jpeg' | 'webp';
  /** 1 … 100, not of png. @default 80 */
  readonly quality?: number;
}

export interface PdfOptions extends TabOptions {
  readonly landscape?: boolean;
  /** @default true */
  readonly background?: boolean;
  /** 0.1 … 2. @default 1 */
  readonly scale?: number;
  /** In inches. @default 8.5 × 11, or as the page says by `@page` */
  readonly width?: number;
  readonly height?: number;
  /** On each side, in inches. @default 0.4 */
  readonly margin?: number;
  /** As in `1-3, 5`. @default all */
  readonly pages?: string;
}

export interface NewCookie {
  readonly name: string;
  readonly value: string;
  /** Where it belongs; this or `domain`. */
  readonly url?: string;
  readonly domain?: string;
  readonly path?: string;
  /** Epoch seconds. @default as long as the context of the job */
  readonly expires?: number;
  readonly httpOnly?: boolean;
  readonly secure?: boolean;
  readonly sameSite?: 'Strict' | 'Lax' | 'None';
}

export interface TabCookie extends NewCookie {
  readonly domain: string;
  readonly path: string;
}
