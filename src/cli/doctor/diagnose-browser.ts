import {
  type ChromeSearch,
  describeChrome,
  howToGetChrome,
  usableChrome,
} from '../../browser/chrome/usable-chrome.js';
import type { JobDefinition } from '../../client/job-definition.js';
import { type Diagnosis, fine } from '../../storage/diagnosis.js';
import type { Setup } from '../session.js';

/** Each candidate is started, and the longest a start may take is 15 s. */
const searchMs = 60_000;

/** Where jobs or settings ask for browser lanes: whether this machine has a Chrome that starts. */
export async function diagnoseBrowser({ jobs, settings: { values } }: Setup): Promise<Diagnosis[]> {
  const names = jobs.filter(({ lane }: JobDefinition) => lane === 'browser').map(({ name }) => name);
  if (names.length === 0 && values.browserLanes === 0) return [];
  const chromePath = values.chromePath === 'auto' ? null : values.chromePath;
  const search = await usableChrome(chromePath, AbortSignal.timeout(searchMs));
  return [chromeCheck(search), ...lanesCheck(names, values)];
}

function chromeCheck({ chrome, failures }: ChromeSearch): Diagnosis {
  if (chrome === null) {
    const tried = failures.length === 0 ? '' : ` that starts: ${failures.join('; ')}`;
    return { check: 'chrome', status: 'fail', message: `there is none${tried}`, fix: howToGetChrome };
  }
  const message = describeChrome(chrome);
  if (chrome.hasSandbox) return fine('chrome', message);
  const fix =
    'Run workers as another user than root, on a kernel or with a container profile that allows user namespaces';
  return { check: 'chrome', status: 'warn', message, fix };
}

function lanesCheck(
  names: readonly string[],
  { browserLanes }: { readonly browserLanes: number | 'auto' },
): Diagnosis[] {
  if (names.length === 0 || browserLanes !== 0) return [];
  const message = `jobs that run in a browser lane (${names.slice(0, 3).join(', ')}) have none in a worker started here`;
  return [
    {
      check: 'browser lanes',
      status: 'warn',
      message,
      fix: 'Set MILLRACE_BROWSER_LANES=auto, or: millrace work --browser-lanes=auto',
    },
  ];
}
