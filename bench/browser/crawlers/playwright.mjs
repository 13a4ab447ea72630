import { chromium } from 'playwright';

/** Nothing but Playwright: what all others add to is measured against it. */
export async function crawl({ urls, width, chrome }) {
  const browser = await chromium.launch({
    executablePath: chrome.executable,
    args: chrome.args,
    env: chrome.env,
  });
  const left = [...urls];
  const walk = async () => {
    for (let url = left.pop(); url !== undefined; url = left.pop()) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(url);
      await page.screenshot({ type: 'jpeg' });
      await page.title();
      await context.close();
    }
  };
  try {
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: width }, walk));
    return performance.now() - startedMs;
  } finally {
    await browser.close();
  }
}
