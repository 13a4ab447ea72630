/*
 * One page, as a browser sees it: opened, waited for, scrolled, and then kept part by part. It stands on what every browser job
 * has (`ctx.tab`, `ctx.cdp`), so it runs wherever a browser lane is.
 *
 *   opening ──document──▶ waiting ──▶ scrolling ──▶ steps ──▶ keeping: html, text, links, assets, screenshot, pdf
 *      │ none in time                └──────────── each: a problem of its own, the rest goes on
 *      └▶ fails, and nothing is kept
 *
 * What is kept is kept at once: where Chrome dies half-way, what was there before is the result, and says that it is
 * partial. Where nothing was there yet, the capture fails as any work whose Chrome dies. Once the time of the whole is over, what is left is a problem each.
 */

import { withDeadline } from '../../internal/deadline.js';
import { hasErrorCode, isMillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import { version } from '../../internal/version.js';
import type { BrowserMembers } from '../browser-job.js';
import type { Tab, TabLanding } from '../browser-tab.js';
import { AssetKeeper } from './asset-keeper.js';
import type { ResolvedCapture } from './capture-options.js';
import type { CapturedFile, CaptureProblem, CaptureResult } from './capture-result.js';
import type { CaptureSink } from './capture-sink.js';
import { takeStep } from './capture-steps.js';
import { PageLedger } from './page-ledger.js';

export interface CapturePorts {
  readonly browser: Pick<BrowserMembers, 'tab' | 'cdp'>;
  readonly sink: CaptureSink;
  /** By parts that are done, of how many, with the name of the one that comes. */
  readonly onProgress: (done: number, total: number, phase: string) => void;
  /** Monotonic, in ms. */
  readonly nowMs: () => number;
}

interface Part {
  readonly name: string;
  run(timeoutMs: number): Promise<void>;
}

const leastMs = 1_000;
/** What a part does ends by itself, and tells better why. */
const marginMs = 500;

/** @throws MillraceError `page-unreachable`, `target-refused`, `deadline-exceeded` where there is no page to keep; `page-crashed` */
export async function capture(options: ResolvedCapture, ports: CapturePorts): Promise<CaptureResult> {
  return new Capture(options, ports).run();
}

class Capture {
  readonly #options: ResolvedCapture;
  readonly #ports: CapturePorts;
  readonly #problems: CaptureProblem[] = [];
  readonly #files: CapturedFile[] = [];
  readonly #startedAtMs: number;
  #assets = 0;
  /** Why there is no page any more. */
  #gone: string | null = null;

  constructor(options: ResolvedCapture, ports: CapturePorts) {
    this.#options = options;
    this.#ports = ports;
    this.#startedAtMs = ports.nowMs();
  }

  async run(): Promise<CaptureResult> {
    const { browser } = this.#ports;
    await sayWhoWeAre(browser, this.#options.contact);
    const keeper =
      this.#options.assets === null
        ? null
        : new AssetKeeper(browser.cdp, { put: (...file) => this.#put(...file) }, this.#options.assets);
    const ledger = await PageLedger.open(browser.cdp, (entry) => keeper?.take(entry));
    try {
      return await this.#captured(ledger, keeper);
    } finally {
      ledger.close();
    }
  }

  async #captured(ledger: PageLedger, keeper: AssetKeeper | null): Promise<CaptureResult> {
    const { url, waitUntil } = this.#options;
    const parts = this.#parts(keeper);
    this.#tell(0, parts.length, 'opening');
    const landing = await this.#tab.goto(url, { waitUntil, timeout: this.#leftMs });
    const loadedMs = this.#sinceMs;
    for (const [done, part] of parts.entries()) {
      this.#tell(done + 1, parts.length, part.name);
      await this.#attempt(part);
    }
    const about = await this.#about(landing);
    return {
      url,
      ...about,
      status: landing.status,
      redirects: ledger.redirects,
      endedBy: landing.endedBy,
      timings: { loadedMs, totalMs: this.#sinceMs },
      consoleErrors: ledger.errors,
      counts: {
        requests: ledger.requests,
        failed: ledger.failed,
        bytes: ledger.bytes,
        assets: this.#assets,
      },
      partial: this.#problems.length > 0,
      problems: this.#problems,
      files: this.#files,
    };
  }

  get #tab(): Tab {
    return this.#ports.browser.tab;
  }

  get #sinceMs(): number {
    return Math.round(this.#ports.nowMs() - this.#startedAtMs);
  }

  get #leftMs(): number {
    return Math.max(this.#options.timeoutMs - this.#sinceMs, leastMs);
  }

  #tell(done: number, parts: number, phase: string): void {
    this.#ports.onProgress(done, parts + 1, phase);
  }

  async #put(name: string, content: Uint8Array | string, type: string): Promise<CapturedFile> {
    const file = await this.#ports.sink.put(name, content, type);
    this.#files.push(file);
    return file;
  }

  #parts(keeper: AssetKeeper | null): Part[] {
    const { waitFor, scroll, steps, html, text, links, screenshot, pdf } = this.#options;
    const tab = this.#tab;
    const part = (name: string, isWanted: boolean, run: Part['run']): Part[] =>
      isWanted ? [{ name, run }] : [];
    return [
      ...part('wait', waitFor !== null, (timeout) => tab.wait({ selector: waitFor ?? '' }, { timeout })),
      ...part('scroll', scroll, (timeout) => this.#scroll(timeout)),
      ...part('steps', steps.length > 0, (timeout) => this.#takeSteps(timeout)),
      ...part('html', html, async () => {
        await this.#put('page.html', await tab.html(), 'text/html');
      }),
      ...part('text', text, async () => {
        await this.#put('page.txt', await tab.text(), 'text/plain');
      }),
      ...part('links', links, async () => {
        await this.#put('links.json', asJson(await tab.links()), 'application/json');
      }),
      ...part('screenshot', screenshot !== null, async (timeout) => {
        const { type = 'png' } = screenshot ?? {};
        const picture = await tab.screenshot({ ...screenshot, timeout });
        await this.#put(`screenshot.${type}`, picture, `image/${type}`);
      }),
      ...part('pdf', pdf, async (timeout) => {
        await this.#put('page.pdf', await tab.pdf({ timeout }), 'application/pdf');
      }),
      ...part('assets', keeper !== null, () => this.#keepAssets(keeper as AssetKeeper)),
    ];
  }

  async #scroll(timeout: number): Promise<void> {
    await this.#tab.scroll({ to: 'bottom' }, { timeout });
    await this.#tab.scroll({ to: 'top' }, { timeout });
  }

  async #takeSteps(timeout: number): Promise<void> {
    for (const step of this.#options.steps) await takeStep(this.#tab, step, { timeout });
  }

  async #keepAssets(keeper: AssetKeeper): Promise<void> {
    const { assets, left } = await keeper.end();
    this.#assets = assets.filter(({ name }) => name !== null).length;
    await this.#put('assets.json', asJson(assets), 'application/json');
    const missing = assets.filter(({ name }) => name === null).length + left;
    if (missing > 0)
      this.#problem(
        'assets',
        'browser-call-failed',
        `${missing} of ${assets.length + left} were not kept; assets.json says why`,
      );
  }

  /** A page that is gone ends it all where nothing was kept of it; else what is left is missing, and told as that. */
  async #attempt(part: Part): Promise<void> {
    if (this.#gone !== null) {
      this.#problem(part.name, 'page-crashed', this.#gone);
      return;
    }
    try {
      const ms = this.#leftMs;
      await withDeadline(part.run(ms), { ms: ms + marginMs, name: part.name });
    } catch (error) {
      const { message } = describeFailure(error);
      this.#throwIfOver(error);
      if (hasErrorCode(error, 'page-crashed')) this.#gone = message;
      this.#problem(part.name, isMillraceError(error) ? error.code : 'internal', message);
      if (hasErrorCode(error, 'deadline-exceeded')) await this.#stopScript();
    }
  }

  /** A page that is busy for ever can still be kept once what it does is stopped. */
  async #stopScript(): Promise<void> {
    const { cdp } = this.#ports.browser;
    // A page that does not even heed this is told of by the parts that follow.
    await cdp.send('Runtime.terminateExecution', {}, { timeout: leastMs }).catch(() => undefined);
  }

  #throwIfOver(error: unknown): void {
    if (!isMillraceError(error)) return;
    if (fatal.has(error.code)) throw error;
    if (error.code === 'page-crashed' && this.#files.length === 0) throw error;
  }

  #problem(part: string, code: string, message: string): void {
    this.#problems.push({ part, code, message });
  }

  async #about({
    url,
  }: TabLanding): Promise<Pick<CaptureResult, 'finalUrl' | 'title' | 'language' | 'meta'>> {
    const unknown = { finalUrl: url, title: '', language: null, meta: {} };
    if (this.#gone !== null) return unknown;
    try {
      return await this.#tab.evaluate<Pick<CaptureResult, 'finalUrl' | 'title' | 'language' | 'meta'>>(
        pageAbout,
      );
    } catch (error) {
      if (isMillraceError(error) && fatal.has(error.code)) throw error;
      this.#problem(
        'about',
        isMillraceError(error) ? error.code : 'internal',
        describeFailure(error).message,
      );
      return { finalUrl: url, title: '', language: null, meta: {} };
    }
  }
}

/** After these nothing more is ours to put. */
const fatal: ReadonlySet<string> = new Set([
  'aborted',
  'lease-lost',
  'attempt-timed-out',
  'worker-stopping',
  'file-store-full',
  'file-store-elsewhere',
  'file-store-unusable',
]);

const pageAbout = `(() => {
  const meta = {};
  for (const each of document.querySelectorAll('meta[name][content], meta[property][content]')) {
    if (Object.keys(meta).length === 50) break;
    meta[(each.getAttribute('name') || each.getAttribute('property')).slice(0, 100)] = each.content.slice(0, 2000);
  }
  const canonical = document.querySelector('link[rel~=canonical]');
  if (canonical) meta.canonical = canonical.href;
  const language = document.documentElement && document.documentElement.lang;
  return { finalUrl: location.href, title: document.title.slice(0, 1000), language: language || null, meta };
})()`;

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** That of Chrome, with what asks and how its operator is reached. */
async function sayWhoWeAre({ cdp }: Pick<BrowserMembers, 'cdp'>, contact: string | null): Promise<void> {
  const { userAgent } = await cdp.send<{ userAgent: string }>('Browser.getVersion');
  const by = contact === null ? '' : ` (+${contact})`;
  await cdp.send('Network.setUserAgentOverride', { userAgent: `${userAgent} Millrace/${version}${by}` });
}
