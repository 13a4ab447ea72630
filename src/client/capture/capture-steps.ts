import type { Tab, TabOptions } from '../browser-tab.js';

/** What is done with a page before it is kept: one verb each. */
export type CaptureStep =
  | { readonly click: string }
  | { readonly fill: string; readonly value: string }
  | { readonly press: string }
  /** A selector that becomes visible, or a number of ms, at most 10,000. */
  | { readonly wait: string | number }
  | { readonly scroll: 'top' | 'bottom' | number };

export const stepForm =
  '{ click: selector }, { fill: selector, value: text }, { press: key }, { wait: selector or ms }, { scroll: "top", "bottom" or pixels }';

const longestWaitMs = 10_000;
const verbs = ['click', 'fill', 'press', 'wait', 'scroll'];

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

export function isStep(value: unknown): value is CaptureStep {
  if (typeof value !== 'object' || value === null) return false;
  const keys = Object.keys(value);
  const [verb] = keys.filter((key) => verbs.includes(key));
  const step = value as Record<string, unknown>;
  if (verb === 'fill') return keys.length === 2 && isText(step['fill']) && typeof step['value'] === 'string';
  if (keys.length !== 1 || verb === undefined) return false;
  const given = step[verb];
  if (verb === 'wait')
    return isText(given) || (typeof given === 'number' && given >= 0 && given <= longestWaitMs);
  if (verb === 'scroll') return given === 'top' || given === 'bottom' || Number.isFinite(given);
  return isText(given);
}

export async function takeStep(tab: Tab, step: CaptureStep, options: TabOptions): Promise<void> {
  if ('click' in step) return tab.click(step.click, options);
  if ('fill' in step) return tab.fill(step.fill, step.value, options);
  if ('press' in step) return tab.press(step.press, options);
  if ('scroll' in step)
    return tab.scroll(typeof step.scroll === 'number' ? { by: step.scroll } : { to: step.scroll }, options);
  if (typeof step.wait === 'string') return tab.wait({ selector: step.wait }, options);
  // In the page, so that it ends with it.
  await tab.evaluate(`new Promise((resolve) => setTimeout(resolve, ${step.wait}))`, options);
}
