import { type CaptureOptions, resolveCapture } from '../../client/capture/capture-options.js';
import type { CaptureResult } from '../../client/capture/capture-result.js';
import { MillraceError } from '../../internal/errors.js';
import { PrivateTargets } from '../../internal/private-targets.js';

/** What a capture without a queue is given beside what is captured. */
export interface CapturePageOptions extends Omit<CaptureOptions, 'url'> {
  /** Where its files go; made where it is missing. */
  readonly folder: string;
  /** The Chrome to start. @default CHROME_PATH, else one that is found on the machine or in `@sparticuz/chromium` */
  readonly chromePath?: string;
  /** What it may reach that is not of the public internet, as setting `BROWSER_PRIVATE_TARGETS`. @default that setting, else none */
  readonly privateTargets?: string;
  readonly signal?: AbortSignal;
  /** Parts that are done, of how many, and the one that comes. */
  readonly onProgress?: (done: number, total: number, phase: string) => void;
}

/**
 * Captures one page with a Chrome of its own, without queue or worker: text, links, HTML, picture and what else is asked for,
 * as files of a folder.
 *
 * @throws MillraceError `option-unknown`, `option-invalid`, `chrome-missing`, `folder-unusable`, `target-refused`,
 *   `page-unreachable`, `page-crashed`, `deadline-exceeded`
 *
 * @example
 * const { title, files } = await capturePage('https://example.com/', { folder: 'captured' });
 */
export async function capturePage(url: string, options: CapturePageOptions): Promise<CaptureResult> {
  const { folder, chromePath, privateTargets, signal, onProgress, ...given } = options;
  const resolved = resolveCapture({ ...given, url });
  const targets = privateTargets ?? process.env['BROWSER_PRIVATE_TARGETS'] ?? 'none';
  const parsed = PrivateTargets.parse(targets);
  if (parsed === null || typeof folder !== 'string' || folder === '') {
    throw new MillraceError(
      'option-invalid',
      parsed === null
        ? `option "privateTargets": expected none, all, or a list of hosts, addresses and networks, got ${JSON.stringify(targets)}`
        : 'option "folder": expected the path of a folder for the files of the capture',
    );
  }
  const path = chromePath ?? process.env['CHROME_PATH'] ?? 'auto';
  const { capturePageHere } = await import('./capture-page.js');
  return capturePageHere(resolved, {
    folder,
    privateTargets: parsed,
    chromePath: path === 'auto' ? null : path,
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}
