import type { ChromeProcess } from '../chrome/chrome-process.js';

const deadlineMs = 5_000;
const clip = { x: 0, y: 0, width: 200, height: 200, scale: 1 };

/** A Chrome is well once it has opened a page, run a script in it and drawn it. Rejects with what it could not do. */
export async function smokeTest({ connection }: ChromeProcess, versionMs: number): Promise<void> {
  const { browser } = connection;
  const options = { deadlineMs };
  await browser.send('Browser.getVersion', undefined, { deadlineMs: versionMs });
  const { browserContextId } = await browser.send(
    'Target.createBrowserContext',
    { disposeOnDetach: true },
    options,
  );
  const { targetId } = await browser.send(
    'Target.createTarget',
    { url: 'about:blank', browserContextId },
    options,
  );
  const page = await connection.attach(targetId);
  const { result } = await page.send('Runtime.evaluate', { expression: '1 + 1' }, options);
  if (result.value !== 2)
    throw new Error(`a page reckoned that 1 + 1 is ${JSON.stringify(result.value ?? null)}`);
  await page.send('Page.captureScreenshot', { format: 'jpeg', clip }, options);
  await browser.send('Target.disposeBrowserContext', { browserContextId }, options);
  // From now on it tells of every page that opens.
  await browser.send('Target.setDiscoverTargets', { discover: true }, options);
}
