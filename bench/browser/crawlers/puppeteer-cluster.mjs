import { Cluster } from 'puppeteer-cluster';
import puppeteer from 'puppeteer-core';

/** A context of its own for each page, in one Chrome, as it advises; nothing is stored. */
export async function crawl({ urls, width, chrome }) {
  const cluster = await Cluster.launch({
    concurrency: Cluster.CONCURRENCY_CONTEXT,
    maxConcurrency: width,
    puppeteer,
    puppeteerOptions: {
      executablePath: chrome.executable,
      args: chrome.args,
      headless: 'shell',
      env: chrome.env,
    },
  });
  let failed = null;
  cluster.on('taskerror', (error) => {
    failed ??= error;
  });
  await cluster.task(async ({ page, data }) => {
    await page.goto(data);
    await page.screenshot({ type: 'jpeg' });
    await page.title();
  });
  try {
    const startedMs = performance.now();
    for (const url of urls) cluster.queue(url);
    await cluster.idle();
    if (failed !== null) throw failed;
    return performance.now() - startedMs;
  } finally {
    await cluster.close();
  }
}
