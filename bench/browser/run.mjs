/* A run with --browser: pages through our lanes and other crawlers, taking turns, and what a lane does when Chrome fails. */
import { fileURLToPath } from 'node:url';
import { usableChrome } from '../../dist/browser/chrome/usable-chrome.js';
import { installPeers } from '../peers/install.mjs';
import { percentile } from '../statistics.mjs';
import { LaneStage } from './lane-stage.mjs';
import { openSite } from './site.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const searchMs = 120_000;
const crawlers = ['millrace', 'puppeteer-cluster', 'crawlee', 'playwright'];

export async function runBrowser({ options: { sizes, reps }, emit, tell }) {
  await installPeers(tell, { folder, what: 'the other crawlers', where: 'bench/browser' });
  const found = await usableChrome(process.env.CHROME_PATH || null, AbortSignal.timeout(searchMs));
  if (found.chrome === null) throw new Error(`no Chrome that starts: ${found.failures.join('; ')}`);
  // Pages are those of this machine.
  process.env.BROWSER_PRIVATE_TARGETS = 'all';
  const site = await openSite();
  try {
    emit({ run: 'browser', work: 'chrome', chrome: found.chrome.product, pages: site.pages.length });
    await crawlAll({ site, chrome: launchable(found.chrome), sizes, reps, emit });
    await failures({ found, site, sizes, emit });
  } finally {
    site.close();
  }
}

/** For who launches it by itself, as our lanes do. */
function launchable({ executable, hasSandbox, hasSmallShm, libraries }) {
  return {
    executable,
    args: [
      '--disable-gpu',
      ...(hasSandbox ? [] : ['--no-sandbox']),
      ...(hasSmallShm ? ['--disable-dev-shm-usage'] : []),
    ],
    env: libraries === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries },
  };
}

async function crawlAll({ site, chrome, sizes, reps, emit }) {
  const light = Array.from({ length: sizes.pages }, (_, index) => site.pages[index % site.pages.length]);
  const kinds = { readmes: light, heavy: Array.from({ length: sizes.heavyRounds }, () => site.heavy).flat() };
  for (let rep = 1; rep <= reps; rep += 1)
    for (const [kind, urls] of Object.entries(kinds))
      for (const width of [1, 2])
        for (const crawler of crawlers) {
          const row = { run: 'browser', work: 'crawl', crawler, kind, width, rep, pages: urls.length };
          try {
            const { crawl } = await import(`./crawlers/${crawler}.mjs`);
            const tookMs = await crawl({ urls, width, chrome });
            emit({
              ...row,
              perMinute: (urls.length / tookMs) * 60_000,
              msPerPage: (tookMs * width) / urls.length,
            });
          } catch (error) {
            emit({ ...row, problems: [String(error.message).split('\n')[0]] });
          }
        }
}

async function failures({ found, site, sizes, emit }) {
  const stage = new LaneStage(found);
  const measured = async (work, measure) => emit({ run: 'browser', work, ...(await measure()) });
  try {
    await stage.start();
    await measured('kill-ready', () => killed(stage, sizes.kills));
    await measured('frozen-chrome', () => frozenChrome(stage, sizes.freezes));
    await measured('frozen-page', () => frozenPage(stage, sizes.freezes));
    await measured('memory', () => memory(stage, site, sizes.memoryJobs));
  } finally {
    await stage.stop();
  }
}

const summary = (tookMs) => ({
  n: tookMs.length,
  p50: percentile(tookMs, 0.5),
  p95: percentile(tookMs, 0.95),
  max: Math.max(...tookMs),
});

/** Killed under a job, as a crash is; ready: it has run a page and would take the next job. */
async function killed(stage, count) {
  const tookMs = [];
  for (let turn = 0; turn < count; turn += 1) {
    await stage.until(() => stage.state === 'idle');
    let killedMs = 0;
    await stage.run(async ({ tab }) => {
      killedMs = performance.now();
      process.kill(stage.pid, 'SIGKILL');
      await tab.evaluate('new Promise(() => {})');
    });
    await stage.until(() => stage.state === 'idle');
    tookMs.push(performance.now() - killedMs);
  }
  return summary(tookMs);
}

async function frozenChrome(stage, count) {
  const tookMs = [];
  for (let turn = 0; turn < count; turn += 1) {
    await stage.until(() => stage.state === 'idle');
    const { pid } = stage;
    const startedMs = performance.now();
    process.kill(pid, 'SIGSTOP');
    await stage.until(() => stage.pid !== pid);
    tookMs.push(performance.now() - startedMs);
  }
  return summary(tookMs);
}

async function frozenPage(stage, count) {
  const tookMs = [];
  for (let turn = 0; turn < count; turn += 1) {
    await stage.until(() => stage.state === 'idle');
    const startedMs = performance.now();
    await stage.run(async ({ tab }) => {
      await stage.stopPages();
      await tab.evaluate('new Promise(() => {})', { timeout: '60s' });
    });
    tookMs.push(performance.now() - startedMs);
  }
  return summary(tookMs);
}

async function memory(stage, site, jobs) {
  const visit = (index) =>
    stage.run(async ({ tab }) => {
      await tab.goto(site.pages[index % site.pages.length]);
      await tab.screenshot({ type: 'jpeg' });
    });
  const once = async (index) => {
    await stage.until(() => stage.state === 'idle');
    await visit(index);
  };
  for (let index = 0; index < 5; index += 1) await once(index);
  await stage.until(() => stage.state === 'idle');
  const beforeMb = await stage.memoryMb();
  for (let index = 0; index < jobs; index += 1) await once(index);
  await stage.until(() => stage.state === 'idle');
  return { jobs, beforeMb, afterMb: await stage.memoryMb() };
}
