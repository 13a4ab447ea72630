import { describeValue } from './describe-value.js';
import { MillraceError } from './errors.js';
import { mostLabels, parseLabels } from './labels.js';
import { isQueueName, queueNameRule } from './name-rule.js';
import type { Setting } from './setting-kinds.js';

/** Units by the name of a queue or group. */
export type CostBudgets = Readonly<Record<string, number>>;

interface Described {
  readonly env: string;
  readonly meaning: string;
}

const largestBudget = 1_000_000_000;
const none = 'none';
const noBudgets: CostBudgets = Object.freeze({});
const noLabels: readonly string[] = Object.freeze([]);

/** Caps by name, as in `mail=20,reports=5`, or as an object. */
export function budgetsSetting({ env, meaning }: Described): Setting<CostBudgets, 'list'> {
  const expected = `none, or budgets as in mail=20,reports=5: names of ${queueNameRule}, units whole from 1 to ${largestBudget}`;
  return {
    env,
    meaning,
    default: noBudgets,
    unit: 'list',
    expected,
    format: (budgets) =>
      Object.entries(budgets)
        .map(([name, units]) => `${name}=${units}`)
        .join(',') || none,
    parse(raw, isText) {
      const entries = entriesOf(raw, isText);
      const isSound = entries?.every(
        ([name, units]) =>
          isQueueName(name) &&
          Number.isInteger(units) &&
          Number(units) >= 1 &&
          Number(units) <= largestBudget,
      );
      const names = new Set(entries?.map(([name]) => name));
      if (entries === null || isSound !== true || names.size < entries.length) throw refused(expected, raw);
      return Object.freeze(Object.fromEntries(entries)) as CostBudgets;
    },
  };
}

const noHosts: readonly string[] = Object.freeze([]);
const mostHosts = 100;

/** Names of hosts, each with or without a port, with commas or as a list. */
export function hostsSetting({ env, meaning }: Described): Setting<readonly string[], 'list'> {
  const expected = `none, or names of hosts as in jobs.example.com,hub:8000, at most ${mostHosts}`;
  return {
    env,
    meaning,
    default: noHosts,
    unit: 'list',
    expected,
    format: (hosts) => hosts.join(',') || none,
    parse(raw) {
      if (isNone(raw)) return noHosts;
      const given: unknown = typeof raw === 'string' ? raw.split(',').map((host) => host.trim()) : raw;
      const isSound =
        Array.isArray(given) &&
        given.length <= mostHosts &&
        given.every(
          (host) =>
            typeof host === 'string' && /^(\[[0-9a-fA-F:.]+\]|[\w-]+(\.[\w-]+)*)(:\d{1,5})?$/.test(host),
        );
      if (!isSound) throw refused(expected, raw);
      return Object.freeze(given.map((host: string) => host.toLowerCase()));
    },
  };
}

/** The labels of a worker, with commas or as a list. */
export function labelsSetting({ env, meaning }: Described): Setting<readonly string[], 'list'> {
  const expected = `none, or labels as in gpu,eu: each ${queueNameRule}, at most ${mostLabels}`;
  return {
    env,
    meaning,
    default: noLabels,
    unit: 'list',
    expected,
    format: (labels) => labels.join(',') || none,
    parse(raw) {
      if (isNone(raw)) return noLabels;
      try {
        return parseLabels(raw);
      } catch {
        throw refused(expected, raw);
      }
    },
  };
}

/** Null where it is neither a text of that kind nor an object. */
function entriesOf(raw: unknown, isText: boolean): [name: string, units: unknown][] | null {
  if (isNone(raw)) return [];
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw) && !isText) return Object.entries(raw);
  if (typeof raw !== 'string') return null;
  return raw.split(',').map((part) => {
    const [name = '', units = '', ...more] = part.split('=').map((piece) => piece.trim());
    return [name, more.length === 0 && /^\d{1,10}$/.test(units) ? Number(units) : Number.NaN];
  });
}

const isNone = (raw: unknown): boolean => typeof raw === 'string' && raw.trim().toLowerCase() === none;

function refused(expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', `expected ${expected}, got ${describeValue(got)}`);
}
