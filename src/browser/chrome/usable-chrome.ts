import { describeFailure } from '../../internal/failure.js';
import { chromesOnMachine, type FoundChrome } from './find-chrome.js';
import { packagedChrome, withLibraries } from './packaged-chrome.js';
import { type Probe, probeChrome, type UsableChrome } from './sandbox.js';

export interface ChromeSearch {
  /** The first that starts; null when there is none. */
  readonly chrome: UsableChrome | null;
  /** In words, each that was there and does not start, with why. */
  readonly failures: readonly string[];
}

/** What to do where none was found. */
export const howToGetChrome =
  'Install one (Debian, Ubuntu: apt install chromium-headless-shell or chromium; with npm alone: npm i @sparticuz/chromium), or name one by CHROME_PATH; lanes look for one again and again';

/**
 * The Chrome of this machine: the one that `CHROME_PATH` names and no other, else what is on the machine, else that of the
 * npm package. Each is started to see that it does.
 */
export async function usableChrome(chromePath: string | null, signal: AbortSignal): Promise<ChromeSearch> {
  const failures: string[] = [];
  const accept = async (found: FoundChrome): Promise<UsableChrome | null> => {
    const probe: Probe = await probeChrome(found);
    if (!('failure' in probe)) return probe;
    failures.push(
      `${found.source === 'CHROME_PATH' ? `CHROME_PATH=${found.executable}` : found.source} ${probe.failure}`,
    );
    return null;
  };
  const known =
    chromePath === null
      ? chromesOnMachine()
      : [{ executable: chromePath, source: 'CHROME_PATH', libraries: null }];
  for (const found of known) {
    signal.throwIfAborted();
    const chrome = await accept(found);
    if (chrome !== null) return { chrome, failures };
  }
  if (chromePath !== null) return { chrome: null, failures };
  const packaged = await packagedChrome(signal).catch((error: unknown) => {
    failures.push(describeFailure(error).message);
    return null;
  });
  if (packaged === null) return { chrome: null, failures };
  const chrome = (await accept(packaged)) ?? (await accept(withLibraries(packaged)));
  return { chrome, failures };
}

/** In one line, for people: `HeadlessChrome/147.0.7727.24 (CHROME_PATH), sandbox on`. */
export function describeChrome({ product, source, executable, hasSandbox }: UsableChrome): string {
  const from = source === 'CHROME_PATH' ? `CHROME_PATH=${executable}` : source;
  return `${product} (${from}), sandbox ${hasSandbox ? 'on' : 'off'}`;
}

/** Why there is none, and what to do. */
export function describeMissing({ failures }: ChromeSearch): string {
  const tried = failures.length === 0 ? '' : ` that starts (${failures.join('; ')})`;
  return `found no Chrome${tried}. ${howToGetChrome}`;
}
