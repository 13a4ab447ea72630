/**
 * What a job leaves in its Chrome is ended from the smallest step to the largest, each with its deadline; the next one is
 * taken where one fails: stop its script (only where the job was called off) → close its page → dispose of its context →
 * kill the processes that run pages and dispose again → end this Chrome.
 */
import type { Logger } from '../../internal/logger.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { killRenderers } from '../chrome/group-members.js';
import type { JobPage } from '../context/job-page.js';

const stepMs = 1_000;
const disposeMs = 2_000;

export interface CleanUpPorts {
  /** For the log: `lane 1`. */
  readonly name: string;
  readonly logger: Logger;
}

/** Frees the handler of a job that was called off, where it waits for its page. */
export async function stopPage(chrome: ChromeProcess, page: JobPage): Promise<void> {
  const options = { deadlineMs: stepMs };
  const { targetId, session } = page;
  await session.send('Runtime.terminateExecution', undefined, options).catch(() => undefined);
  await session.send('Page.stopLoading', undefined, options).catch(() => undefined);
  await chrome.connection.browser.send('Target.closeTarget', { targetId }, options).catch(() => undefined);
}

/** Resolves once nothing of the job is left in its Chrome, or that Chrome was killed. Never rejects. */
export async function cleanUp(chrome: ChromeProcess, page: JobPage, ports: CleanUpPorts): Promise<void> {
  const { browserContextId } = page;
  const { browser } = chrome.connection;
  const dispose = (): Promise<boolean> =>
    browser
      .send('Target.disposeBrowserContext', { browserContextId }, { deadlineMs: disposeMs })
      .then(() => true)
      .catch(() => false);
  if ((await dispose()) || chrome.connection.endReason !== null || chrome.pid === null) return;
  const killed = await killRenderers(chrome.pid);
  ports.logger.warn(`${ports.name}: a job's pages did not close, killed ${killed} of Chrome's processes`);
  if ((await dispose()) || chrome.connection.endReason !== null) return;
  chrome.kill("could not close a job's pages");
}

/** Ends every context that was made in it, known or not; false: it could not. */
export async function disposeAll({ connection }: ChromeProcess): Promise<boolean> {
  const { browser } = connection;
  const options = { deadlineMs: disposeMs };
  try {
    const { browserContextIds } = await browser.send('Target.getBrowserContexts', undefined, options);
    for (const browserContextId of browserContextIds)
      await browser.send('Target.disposeBrowserContext', { browserContextId }, options);
    return true;
  } catch {
    // Whoever asked ends this Chrome.
    return false;
  }
}
