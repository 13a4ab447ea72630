import { missesAfter, missesBeforeEnd, type PingTimes } from '../../core/browser-lane-rules.js';
import { formatDuration } from '../../internal/duration.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';

/** Asks a Chrome again and again whether it is there, and ends one that no longer answers. Ends with its Chrome. */
export function pingChrome(chrome: ChromeProcess, { everyMs, deadlineMs }: PingTimes): void {
  let misses = 0;
  let timer: { cancel(): void };
  const ping = async (): Promise<void> => {
    const sentAtMs = monotonicMs();
    const isAnswered = await chrome.connection.browser
      .send('Browser.getVersion', undefined, { deadlineMs })
      .then(() => true)
      .catch(() => false);
    if (chrome.connection.endReason !== null) return;
    const ownLagMs = monotonicMs() - sentAtMs - deadlineMs;
    misses = missesAfter(misses, { isAnswered, ownLagMs });
    if (misses >= missesBeforeEnd)
      chrome.kill(`did not answer ${misses} pings in a row, ${formatDuration(deadlineMs)} each`);
    // A miss is made sure of at once.
    else next(isAnswered ? everyMs : 0);
  };
  const next = (afterMs: number): void => {
    timer = setLongTimeout(() => void ping(), afterMs);
  };
  next(everyMs);
  chrome.connection.browser.onClose(() => timer.cancel());
}
