import { Configuration, LogLevel, log, PlaywrightCrawler } from '@crawlee/playwright';
import { chromium } from 'playwright';

/** As many pages at once as there are lanes; its queue in memory only. */
export async function crawl({ urls, width, chrome }) {
  log.setLevel(LogLevel.OFF);
  let failed = null;
  const crawler = new PlaywrightCrawler(
    {
      minConcurrency: width,
      maxConcurrency: width,
      maxRequestRetries: 0,
      launchContext: {
        launcher: chromium,
        useIncognitoPages: true,
        launchOptions: { executablePath: chrome.executable, args: chrome.args, env: chrome.env },
      },
      async requestHandler({ page }) {
        await page.screenshot({ type: 'jpeg' });
        await page.title();
      },
      failedRequestHandler(_, error) {
        failed ??= error;
      },
    },
    new Configuration({ persistStorage: false, purgeOnStart: true }),
  );
  const startedMs = performance.now();
  await crawler.run(urls.map((url, index) => ({ url, uniqueKey: `${index} ${url}` })));
  const tookMs = performance.now() - startedMs;
  await crawler.teardown();
  if (failed !== null) throw failed;
  return tookMs;
}
