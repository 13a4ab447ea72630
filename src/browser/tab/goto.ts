import type { GotoOptions, TabLanding } from '../../client/browser-tab.js';
import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';
import { monotonicMs } from '../../worker/monotonic.js';
import { type Budget, budget, leftMs, type TabPort, tooLate } from './tab-port.js';

/** After the document, what it names is waited for so long: one image that hangs must not hold up the rest. */
const softMs = 15_000;
const fontsMs = 2_000;
/** Redirects that pages make by themselves. */
const mostRedirects = 3;
const lookEveryMs = 25;
const schemes = ['http:', 'https:', 'about:', 'data:', 'blob:'];

const pageSettled = `async (ms) => {
  const soon = new Promise((resolve) => setTimeout(resolve, ms));
  await Promise.race([soon, new Promise((resolve) => requestAnimationFrame(resolve))]);
  await Promise.race([soon, document.fonts.ready]);
}`;

const waits = ['domcontentloaded', 'load', 'quiet'] as const;
type Wait = (typeof waits)[number];

/** Opens an address and waits as asked. The page stays where it is also when this throws. */
export async function goto(port: TabPort, given: string, options: GotoOptions = {}): Promise<TabLanding> {
  const url = checkedUrl(given, port);
  const { waitUntil = 'load' } = options;
  if (!waits.includes(waitUntil)) {
    throw new MillraceError(
      'option-invalid',
      `option "waitUntil": expected ${waits.map((wait) => `'${wait}'`).join(', ')}, got ${describeValue(waitUntil)}`,
    );
  }
  const time = budget(options.timeout);
  await navigate(port, url, time);
  let endedBy = await settle(port, waitUntil, { url, time });
  for (let redirects = 0; redirects < mostRedirects && port.watch.isLeaving; redirects += 1) {
    if (!(await hasLeft(port, time))) break;
    endedBy = await settle(port, waitUntil, { url, time });
  }
  const landed = await port.read<string>('() => location.href', [], budget(undefined));
  return { url: landed, status: port.watch.status, endedBy };
}

function checkedUrl(given: string, { guard }: TabPort): string {
  const url = typeof given === 'string' ? URL.parse(given) : null;
  const why = url === null ? null : (guard?.policy.refusalOfUrl(url) ?? null);
  if (url !== null && schemes.includes(url.protocol)) {
    if (why !== null) throw refusedTarget(url.href, why);
    return url.href;
  }
  throw new MillraceError(
    'option-invalid',
    `tab.goto: expected a whole address with http or https, got ${describeValue(given)}`,
  );
}

async function navigate(port: TabPort, url: string, time: Budget): Promise<void> {
  const answer = await port.call('Page.navigate', { url }, time).catch((error: unknown) => {
    throw port.watch.signal.aborted ? error : asUnreachable(error, url);
  });
  if (answer.errorText === undefined) return;
  throw whyNot(port, url, answer.isDownload === true ? 'it is a download' : answer.errorText);
}

/** Chrome says the same of everything that fails in its proxy, which knows more. */
function whyNot({ guard, watch }: TabPort, url: string, said: string): MillraceError {
  if (guard === null || !said.includes('SOCKS')) return unreachable(url, said);
  const asked = URL.parse(watch.documentUrl) ?? new URL(url);
  const note = guard.failureOf(asked.hostname);
  if (note === null) return unreachable(url, said);
  const what = asked.href === new URL(url).href ? url : `${url}, which leads to ${asked.href},`;
  return note.kind === 'refused' ? refusedTarget(what, note.why) : unreachable(what, note.why);
}

interface Landing {
  readonly url: string;
  readonly time: Budget;
}

/** The document must come in time; the rest is waited for, but not for ever. */
async function settle(port: TabPort, wait: Wait, { url, time }: Landing): Promise<TabLanding['endedBy']> {
  const { watch } = port;
  while (!watch.hasDocument) {
    if (monotonicMs() >= time.endsAtMs) {
      await port.call('Page.stopLoading', undefined, budget(undefined, 1_000)).catch(() => undefined);
      throw tooLate(`tab.goto: ${url} had no document`, time, 'Give it more time by "timeout"');
    }
    await port.pause(lookEveryMs);
  }
  if (wait === 'domcontentloaded') return wait;
  const softEndMs = Math.min(monotonicMs() + softMs, time.endsAtMs);
  let endedBy: TabLanding['endedBy'] = 'limit';
  while (endedBy === 'limit' && monotonicMs() < softEndMs) {
    if (wait === 'load' && watch.hasLoaded) endedBy = 'load';
    else if (watch.hasDocument && watch.isQuiet) endedBy = 'quiet';
    else await port.pause(lookEveryMs);
  }
  // Nothing of what was asked for hangs on it: a page that answers late is taken as it is.
  await port
    .script(pageSettled, [fontsMs], budget(undefined, Math.min(leftMs(time), 2 * fontsMs)))
    .catch(() => port.watch.signal.throwIfAborted());
  return endedBy;
}

/** Waits for a redirect that the page has announced. */
async function hasLeft(port: TabPort, time: Budget): Promise<boolean> {
  const { loaderId } = port.watch;
  while (port.watch.isLeaving && port.watch.loaderId === loaderId) {
    if (monotonicMs() >= time.endsAtMs) return false;
    await port.pause(lookEveryMs);
  }
  return port.watch.loaderId !== loaderId;
}

function asUnreachable(error: unknown, url: string): unknown {
  if (!(error instanceof MillraceError)) return error;
  return error.code === 'browser-call-failed' ? unreachable(url, error.message) : error;
}

const refusedTarget = (url: string, why: string): MillraceError =>
  new MillraceError(
    'target-refused',
    `tab.goto: ${url} may not be opened: ${why}. Where pages are to reach it, the operator of the worker allows it by BROWSER_PRIVATE_TARGETS`,
    { details: { url, why } },
  );

const unreachable = (url: string, why: string): MillraceError =>
  new MillraceError('page-unreachable', `tab.goto: ${url} can’t be opened: ${why}`, {
    details: { url, why },
  });
