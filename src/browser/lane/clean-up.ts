/**
 * What a job leaves in its Chrome is ended from the smallest step to the largest, each with its deadline; the next one is
 * taken where one fails: stop its script (only where the job was called off) → close its page → dispose of its context →
 * kill the processes that run pages and dispose again → end this Chrome.
 */
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { killRenderers } from '../chrome/group-members.js';
import type { JobPage } from '../context/job-page.js';
import { type StepPorts, takeStep } from './lane-step.js';

const stepMs = 1_000;
const disposeMs = 2_000;
const killMs = 2_000;

/** Frees the handler of a job that was called off, where it waits for its page. */
export async function stopPage(
  chrome: ChromeProcess,
  { targetId, session }: JobPage,
  ports: StepPorts,
): Promise<void> {
  const options = { deadlineMs: stepMs };
  const about = { reason: 'its job was called off', deadlineMs: stepMs, isMoot: () => isGone(chrome) };
  await takeStep(ports, { ...about, step: 'stop-script', deadlineMs: 2 * stepMs }, async () => {
    await session.send('Runtime.terminateExecution', undefined, options);
    await session.send('Page.stopLoading', undefined, options);
  });
  await takeStep(ports, { ...about, step: 'close-page' }, () =>
    chrome.connection.browser.send('Target.closeTarget', { targetId }, options),
  );
}

/** Kills every process that runs pages: those crash. Never rejects. */
export async function killPages(chrome: ChromeProcess, reason: string, ports: StepPorts): Promise<void> {
  const { pid } = chrome;
  if (pid === null) return;
  const about = { step: 'kill-pages', reason, deadlineMs: killMs, isMoot: () => isGone(chrome) } as const;
  await takeStep(ports, about, () => killRenderers(pid));
}

export interface CleanUpOptions extends StepPorts {
  /** What went wrong with the job's page, in words; null: nothing, and its end is no step to be told of. */
  readonly trouble: string | null;
}

/** Resolves once nothing of the job is left in its Chrome, or that Chrome was killed. Never rejects. */
export async function cleanUp(
  chrome: ChromeProcess,
  { browserContextId }: JobPage,
  { trouble, ...ports }: CleanUpOptions,
): Promise<void> {
  const { browser } = chrome.connection;
  const dispose = (): Promise<unknown> =>
    browser.send('Target.disposeBrowserContext', { browserContextId }, { deadlineMs: disposeMs });
  const about = { step: 'dispose-context', deadlineMs: disposeMs, isMoot: () => isGone(chrome) } as const;
  const isWell = trouble === null && (await dispose().then(...isDone));
  if (isWell || isGone(chrome)) return;
  const reason = trouble ?? 'its pages did not close';
  if ((await takeStep(ports, { ...about, reason }, dispose)) || isGone(chrome)) return;
  await killPages(chrome, 'its pages did not close', ports);
  const isDisposed = await takeStep(ports, { ...about, reason: 'its pages were killed' }, dispose);
  if (!isDisposed && !isGone(chrome)) chrome.kill("could not close a job's pages");
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

const isGone = ({ connection }: ChromeProcess): boolean => connection.endReason !== null;
const isDone = [() => true, () => false] as const;
