import type { TabCondition, TabOptions } from '../../client/browser-tab.js';
import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';
import { located } from './element.js';
import { evaluate } from './read.js';
import { type Budget, budget, type TabPort, tooLate } from './tab-port.js';

const pageShows = `(text) => document.body !== null && document.body.innerText.includes(text)`;
const pageHides = `(selector) => {
  const element = document.querySelector(selector);
  if (element === null) return true;
  const { width, height } = element.getBoundingClientRect();
  return width === 0 || height === 0 || getComputedStyle(element).visibility !== 'visible';
}`;

export async function wait(port: TabPort, condition: TabCondition, options: TabOptions = {}): Promise<void> {
  const time = budget(options.timeout);
  if ('selector' in condition && condition.state !== 'hidden') {
    const { selector, state = 'visible' } = condition;
    await located(port, { verb: 'wait', selector, state }, time);
    return;
  }
  const check = checkOf(port, condition, time);
  await port.until(
    async () => ((await check()) ? true : null),
    time,
    () =>
      tooLate(
        `tab.wait: ${describe(condition)} did not come true`,
        time,
        'Correct it, or give more "timeout"',
      ),
  );
}

function checkOf(port: TabPort, condition: TabCondition, time: Budget): () => Promise<boolean> {
  if ('selector' in condition) return () => port.script(pageHides, [condition.selector], time);
  if ('text' in condition) return () => port.script(pageShows, [condition.text], time);
  if ('url' in condition)
    return async () => (await port.script<string>('() => location.href', [], time)).includes(condition.url);
  if ('script' in condition) return async () => Boolean(await evaluate(port, condition.script, {}));
  throw new MillraceError(
    'option-invalid',
    `tab.wait: expected an object with selector, text, url or script, got ${describeValue(condition)}`,
  );
}

function describe(condition: TabCondition): string {
  if ('selector' in condition) return `that ${JSON.stringify(condition.selector)} is hidden`;
  const [[kind, value] = []] = Object.entries(condition);
  return `${kind} ${JSON.stringify(value)}`;
}
