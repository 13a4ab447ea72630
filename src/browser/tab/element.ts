import { formatDuration } from '../../internal/duration.js';
import { MillraceError } from '../../internal/errors.js';
import type { Budget, TabPort } from './tab-port.js';

/** The first element of a selector, scrolled into view. Coordinates are of its middle, in what is in view. */
export interface Located {
  readonly count: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly isVisible: boolean;
  readonly isEnabled: boolean;
  /** What lies over its middle, in words; null: nothing. */
  readonly coveredBy: string | null;
}

export interface Sought {
  /** Of the tab, for messages. */
  readonly verb: string;
  readonly selector: string;
  /** `usable`: can be clicked on. */
  readonly state: 'attached' | 'visible' | 'usable';
}

const pageLocate = `(selector) => {
  let all;
  try { all = document.querySelectorAll(selector); } catch { return 'no selector'; }
  const element = all[0];
  if (element === undefined) return null;
  element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  const top = document.elementFromPoint(x, y);
  const isOver = top !== null && top !== element && !element.contains(top) && !top.contains(element)
    && !(top.closest('label') !== null && top.closest('label').control === element);
  const name = (it) => '<' + it.tagName.toLowerCase() + (it.id === '' ? '' : ' id=' + it.id) + '>';
  return {
    count: all.length, x, y, width: box.width, height: box.height,
    isVisible: box.width > 0 && box.height > 0 && style.visibility === 'visible',
    isEnabled: element.closest(':disabled') === null,
    coveredBy: isOver ? name(top) : null,
  };
}`;

/** Waits for it. */
export async function located(port: TabPort, sought: Sought, time: Budget): Promise<Located> {
  const { verb, selector } = sought;
  let why = 'no element of the page fits it';
  let before: Located | null = null;
  return port.until(
    async () => {
      const found = await port.script<Located | 'no selector' | null>(pageLocate, [selector], time);
      if (found === 'no selector') {
        throw new MillraceError(
          'option-invalid',
          `tab.${verb}: expected a CSS selector, got ${JSON.stringify(selector)}`,
        );
      }
      if (found === null) return null;
      const complaint = complaintOf(found, sought.state);
      why = complaint ?? 'it does not stay in its place';
      const isStill = before !== null && before.x === found.x && before.y === found.y;
      before = found;
      return complaint === null && (isStill || sought.state === 'attached') ? found : null;
    },
    time,
    () =>
      new MillraceError(
        'page-element-missing',
        `tab.${verb}: expected ${sought.state === 'attached' ? 'an' : `a ${sought.state}`} element ${JSON.stringify(selector)}, got none within ${formatDuration(time.totalMs)}: ${why}. Correct the selector, or wait for what brings it`,
        { details: { selector, why } },
      ),
  );
}

function complaintOf({ isVisible, isEnabled, coveredBy }: Located, state: Sought['state']): string | null {
  if (state === 'attached') return null;
  if (!isVisible) return 'it is there, but not visible';
  if (state === 'visible') return null;
  if (!isEnabled) return 'it is disabled';
  return coveredBy === null ? null : `${coveredBy} lies over it`;
}
