import type { ScrollTarget, TabOptions } from '../../client/browser-tab.js';
import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';
import { monotonicMs } from '../../worker/monotonic.js';
import { located } from './element.js';
import { keyStroke } from './keys.js';
import { type Budget, budget, type TabPort } from './tab-port.js';

/** A page that grows while it is scrolled is followed no further than this. */
const scrollMost = { pixels: 20_000, ms: 10_000, steps: 40, growth: 5 };
const scrollPauseMs = 100;

export async function click(port: TabPort, selector: string, options: TabOptions = {}): Promise<void> {
  const time = budget(options.timeout);
  const { x, y } = await located(port, { verb: 'click', selector, state: 'usable' }, time);
  const at = { x, y, button: 'left', clickCount: 1 } as const;
  await port.call('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y }, time);
  await port.call('Input.dispatchMouseEvent', { ...at, type: 'mousePressed' }, time);
  await port.call('Input.dispatchMouseEvent', { ...at, type: 'mouseReleased' }, time);
}

/** Says what it was: a field that text is typed into, one whose value was set, or none. */
const pageFocusField = `(selector, value) => {
  const field = document.querySelector(selector);
  if (field === null) return 'gone';
  field.focus();
  const tell = (name) => field.dispatchEvent(new Event(name, { bubbles: true }));
  if (field.isContentEditable) {
    getSelection().selectAllChildren(field);
    return 'typed';
  }
  const isInput = field instanceof HTMLInputElement;
  if (!isInput && !(field instanceof HTMLTextAreaElement)) return 'no field';
  if (field.readOnly) return 'read-only';
  const typed = ['text', 'search', 'email', 'url', 'tel', 'password', 'number', 'textarea'];
  if (value !== '' && typed.includes(field.type)) {
    field.select();
    return 'typed';
  }
  field.value = value;
  tell('input');
  tell('change');
  return field.value === value ? 'set' : 'refused';
}`;

const fillComplaints: Readonly<Record<string, string>> = {
  'no field': 'an element that takes no text',
  'read-only': 'a field that is read-only',
  refused: 'a field that refused the value',
  gone: 'an element that went away',
};

export async function fill(
  port: TabPort,
  { selector, value }: { readonly selector: string; readonly value: string },
  options: TabOptions = {},
): Promise<void> {
  if (typeof value !== 'string') {
    throw new MillraceError('option-invalid', `tab.fill: expected a text, got ${describeValue(value)}`);
  }
  const time = budget(options.timeout);
  await located(port, { verb: 'fill', selector, state: 'usable' }, time);
  const done = await port.script<string>(pageFocusField, [selector, value], time);
  const complaint = fillComplaints[done];
  if (complaint !== undefined) {
    throw new MillraceError(
      'page-element-missing',
      `tab.fill: expected a field at ${JSON.stringify(selector)}, got ${complaint}. Correct the selector or the value`,
      { details: { selector } },
    );
  }
  if (done === 'typed') await type(port, value, time);
}

async function type(port: TabPort, value: string, time: Budget): Promise<void> {
  if (value !== '') await port.call('Input.insertText', { text: value }, time);
  else await stroke(port, 'Delete', time);
}

export async function press(
  port: TabPort,
  key: string,
  options: TabOptions & { readonly selector?: string } = {},
): Promise<void> {
  const time = budget(options.timeout);
  const { selector } = options;
  keyStroke(key);
  if (selector !== undefined) {
    await located(port, { verb: 'press', selector, state: 'visible' }, time);
    await port.script('(selector) => document.querySelector(selector).focus()', [selector], time);
  }
  await stroke(port, key, time);
}

async function stroke(port: TabPort, given: string, time: Budget): Promise<void> {
  const { text, ...key } = keyStroke(given);
  const down =
    text === '' ? ({ ...key, type: 'rawKeyDown' } as const) : ({ ...key, type: 'keyDown', text } as const);
  await port.call('Input.dispatchKeyEvent', down, time);
  await port.call('Input.dispatchKeyEvent', { ...key, type: 'keyUp' }, time);
}

const pageScrolled = `(by) => {
  const root = document.scrollingElement ?? document.documentElement;
  scrollBy({ top: by === null ? innerHeight * 0.8 : by, behavior: 'instant' });
  return { y: scrollY, height: root.scrollHeight, isEnd: scrollY + innerHeight >= root.scrollHeight - 1 };
}`;

interface Scrolled {
  readonly y: number;
  readonly height: number;
  readonly isEnd: boolean;
}

export async function scroll(port: TabPort, target: ScrollTarget, options: TabOptions = {}): Promise<void> {
  const time = budget(options.timeout);
  if ('selector' in target) {
    const { selector } = target;
    await located(port, { verb: 'scroll', selector, state: 'attached' }, time);
  } else if ('by' in target) await port.script(pageScrolled, [target.by], time);
  else if (target.to === 'top')
    await port.script('() => scrollTo({ top: 0, behavior: "instant" })', [], time);
  else await scrollToBottom(port, time);
}

async function scrollToBottom(port: TabPort, time: Budget): Promise<void> {
  const endsAtMs = Math.min(monotonicMs() + scrollMost.ms, time.endsAtMs);
  let first: number | null = null;
  for (let step = 0; step < scrollMost.steps && monotonicMs() < endsAtMs; step += 1) {
    const { y, height, isEnd } = await port.script<Scrolled>(pageScrolled, [null], time);
    first ??= height;
    if (isEnd || y > scrollMost.pixels || height > first * scrollMost.growth) return;
    await port.pause(scrollPauseMs);
  }
}

const pageSelect = `(selector, wanted) => {
  const list = document.querySelector(selector);
  if (!(list instanceof HTMLSelectElement)) return { known: null, missing: [] };
  const options = [...list.options];
  const fits = (option, word) => option.value === word || option.label.trim() === word;
  const missing = wanted.filter((word) => !options.some((option) => fits(option, word)));
  if (missing.length === 0) {
    for (const option of options) option.selected = wanted.some((word) => fits(option, word));
    for (const name of ['input', 'change']) list.dispatchEvent(new Event(name, { bubbles: true }));
  }
  return { known: options.slice(0, 10).map(({ value }) => value), missing };
}`;

interface Selected {
  /** Null: it is no select. */
  readonly known: readonly string[] | null;
  readonly missing: readonly string[];
}

export async function select(
  port: TabPort,
  { selector, values }: { readonly selector: string; readonly values: string | readonly string[] },
  options: TabOptions = {},
): Promise<void> {
  const time = budget(options.timeout);
  await located(port, { verb: 'select', selector, state: 'visible' }, time);
  const wanted = typeof values === 'string' ? [values] : values;
  const { known, missing } = await port.script<Selected>(pageSelect, [selector, wanted], time);
  if (known !== null && missing.length === 0) return;
  const got =
    known === null ? 'an element that is no select' : `one that has ${known.join(', ') || 'no options'}`;
  throw new MillraceError(
    'page-element-missing',
    `tab.select: expected a select ${JSON.stringify(selector)} with ${wanted.join(', ')}, got ${got}. Correct the selector or the values`,
    { details: { selector, missing } },
  );
}
