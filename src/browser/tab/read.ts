import type { Protocol } from 'devtools-protocol';
import type { TabLink, TabOptions } from '../../client/browser-tab.js';
import { describeValue } from '../../internal/describe-value.js';
import { hasErrorCode, MillraceError } from '../../internal/errors.js';
import { located } from './element.js';
import { type Budget, budget, leftMs, type TabPort, tooLate } from './tab-port.js';

/** Until code that overstays has been stopped. */
const stopMs = 500;

const pageHtml = `() => {
  const type = document.doctype === null ? '' : new XMLSerializer().serializeToString(document.doctype) + '\\n';
  return type + (document.documentElement === null ? '' : document.documentElement.outerHTML);
}`;

const pageText = `() => document.body === null ? '' : document.body.innerText`;

const pageLinks = `() => {
  const found = new Map();
  for (const link of document.querySelectorAll('a[href], area[href]')) {
    const url = link.href;
    if (typeof url !== 'string' || !/^https?:/.test(url) || found.has(url)) continue;
    if (found.size === 5000) break;
    const text = (link.innerText || link.alt || '').trim().replace(/\\s+/g, ' ').slice(0, 200);
    found.set(url, { url, text, rel: link.rel });
  }
  return [...found.values()];
}`;

export const url = (port: TabPort): Promise<string> =>
  port.read('() => location.href', [], budget(undefined));
export const title = (port: TabPort): Promise<string> =>
  port.read('() => document.title', [], budget(undefined));
export const html = (port: TabPort): Promise<string> => port.read(pageHtml, [], budget(undefined));
export const links = (port: TabPort): Promise<TabLink[]> => port.read(pageLinks, [], budget(undefined));

export async function text(port: TabPort, selector?: string): Promise<string> {
  if (selector === undefined) return port.read(pageText, [], budget(undefined));
  const time = budget(undefined);
  await located(port, { verb: 'text', selector, state: 'attached' }, time);
  return port.read('(selector) => document.querySelector(selector).innerText ?? ""', [selector], time);
}

/** What code of the user says about itself: an expression as text, or a function with one argument. */
export async function evaluate(
  port: TabPort,
  code: unknown,
  { argument, options = {} }: { readonly argument?: unknown; readonly options?: TabOptions | undefined },
): Promise<unknown> {
  const expression = expressionOf(code, argument);
  const time = budget(options.timeout);
  const { result, exceptionDetails } = await run(port, expression, time);
  if (exceptionDetails === undefined) return result.value as unknown;
  const { exception, text: brief } = exceptionDetails;
  const told = exception?.description ?? (exception?.value === undefined ? brief : String(exception.value));
  throw new MillraceError('page-script-failed', `tab.evaluate: the page threw ${told}`);
}

/** What does not end in its time is stopped, so that the page can be used again. */
async function run(
  port: TabPort,
  expression: string,
  time: Budget,
): Promise<Protocol.Runtime.EvaluateResponse> {
  const how = { awaitPromise: true, returnByValue: true, userGesture: true, timeout: leftMs(time) };
  const untilStopped = { ...time, endsAtMs: time.endsAtMs + stopMs };
  try {
    return await port.call('Runtime.evaluate', { expression, ...how }, untilStopped);
  } catch (error) {
    if (!hasErrorCode(error, 'browser-call-failed') || leftMs(time) > 1) throw error;
    throw tooLate('tab.evaluate: the code did not end', time, 'Give it more "timeout", or let it do less');
  }
}

function expressionOf(code: unknown, argument: unknown): string {
  if (typeof code === 'string') return code;
  if (typeof code !== 'function') {
    throw new MillraceError(
      'option-invalid',
      `tab.evaluate: expected an expression as text, or a function, got ${describeValue(code)}`,
    );
  }
  const value = argument === undefined ? '' : JSON.stringify(argument);
  // Compilers that keep names wrap functions in a call of `__name`, which no page has.
  return `(() => { const __name = (value) => value; return (${String(code)})(${value}); })()`;
}
