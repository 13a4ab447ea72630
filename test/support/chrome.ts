import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ChromeProcess } from '../../src/browser/chrome/chrome-process.js';
import type { FoundChrome } from '../../src/browser/chrome/find-chrome.js';
import { packagedChrome } from '../../src/browser/chrome/packaged-chrome.js';
import { type JobPage, type JobPageOptions, openJobPage } from '../../src/browser/context/job-page.js';
import { smokeTest } from '../../src/browser/lane/smoke-test.js';
import type { GuardProxy } from '../../src/browser/net/guard-proxy.js';
import { tempDir } from './temp.js';

const noSignal = new AbortController().signal;
const ofMachine: FoundChrome = {
  executable: '/usr/lib/chromium/chromium',
  source: 'Debian',
  libraries: null,
};

const given = process.env['CHROME_PATH'] ?? '';

/** Those that tests run with, by name; the machine's own where it has one, and one that CHROME_PATH names. */
export const chromes: readonly { readonly name: string; readonly find: () => Promise<FoundChrome> }[] = [
  {
    name: 'headless shell of npm',
    find: async () => {
      const found = await packagedChrome(noSignal);
      if (found === null) throw new Error('@sparticuz/chromium is not installed, or not for this machine');
      return found;
    },
  },
  ...(existsSync(ofMachine.executable)
    ? [{ name: 'Chromium of the machine', find: () => Promise.resolve(ofMachine) }]
    : []),
  ...(existsSync(given) && given !== ofMachine.executable
    ? [
        {
          name: 'Chrome of CHROME_PATH',
          find: () => Promise.resolve({ executable: given, source: 'CHROME_PATH', libraries: null } as const),
        },
      ]
    : []),
];

export interface OpenChrome extends AsyncDisposable {
  readonly chrome: ChromeProcess;
  /** Ends the contexts that were opened. */
  clear(): Promise<void>;
  /** A page in a context of its own. */
  page(options?: Partial<JobPageOptions>): Promise<JobPage>;
}

/** Chrome can crash at a start that succeeds the next time: a lane starts another then, and so does this. */
const mostStarts = 3;

async function startWell(
  found: FoundChrome,
  { folder, proxy, start = 1 }: { folder: string; proxy: string | null; start?: number },
): Promise<ChromeProcess> {
  const chrome = await ChromeProcess.spawn({
    ...found,
    proxy,
    folder: join(folder, String(start)),
    hasSandbox: process.getuid?.() !== 0,
    hasSmallShm: true,
    onStderr: () => undefined,
    onListenerError: (error) => process.stderr.write(`${String(error)}\n`),
    reapMs: 5_000,
  });
  try {
    await smokeTest(chrome, 15_000);
    return chrome;
  } catch (error) {
    chrome.kill(String(error));
    const { reason, tail } = await chrome.ended;
    if (start === mostStarts) throw new Error(`Chrome did not start: ${reason} ${tail}`, { cause: error });
    return startWell(found, { folder, proxy, start: start + 1 });
  }
}

/** `guard`: what its traffic goes through; without one it goes straight. */
export async function openChrome(found: FoundChrome, guard: GuardProxy | null = null): Promise<OpenChrome> {
  const folder = tempDir('chrome');
  const proxy = (await guard?.listen()) ?? null;
  const chrome = await startWell(found, { folder: folder.path, proxy });
  const opened: string[] = [];
  return {
    chrome,
    async clear() {
      for (const browserContextId of opened.splice(0))
        await chrome.connection.browser.send('Target.disposeBrowserContext', { browserContextId });
    },
    async page(options = {}) {
      const page = await openJobPage(chrome.connection, {
        signal: noSignal,
        hasPuppeteer: false,
        guard,
        ...options,
      });
      opened.push(page.browserContextId);
      return page;
    },
    [Symbol.asyncDispose]: async () => {
      chrome.kill('the test is over');
      await chrome.ended;
      guard?.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
