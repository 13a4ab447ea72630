import type { LimitState } from '../job-limit.js';
import type { Context } from './context.js';
import { countInLines, homesOfAlone, linesWithWork, runningByKey } from './queries/limits.js';
import type { Sql } from './sql.js';

const mostStates = 1_000;
const mostWaiting = 1_000;
/** Keys and lines that are looked at. */
const mostLooked = 10_000;
/** Lines that are counted in one statement. */
const countedAtOnce = 100;

type State = { -readonly [Field in keyof LimitState]: LimitState[Field] };

export async function limits(context: Context): Promise<LimitState[]> {
  const { t } = context;
  const states = new Map<string, State>();
  const stateOf = (group: string, key: string | null): State => {
    const name = JSON.stringify([group, key]);
    const state = states.get(name) ?? { group, key, max: null, running: 0, runningCost: 0, waiting: 0 };
    states.set(name, state);
    return state;
  };
  for (const row of await read(context, runningByKey(t, mostLooked))) {
    const [group, key, , running, cost, max] = row as [
      Buffer,
      Buffer | null,
      number,
      number,
      number,
      number | null,
    ];
    const state = stateOf(group.toString(), key?.toString() ?? null);
    state.running = Number(running);
    state.runningCost = Number(cost);
    state.max = max;
  }
  const waiting = (await read(context, linesWithWork(t, mostLooked))) as [number, number][];
  const homes = (await read(context, homesOfAlone(t, mostWaiting))) as [number][];
  await context.lines.load(
    [...waiting.map(([, line]) => line), ...homes.map(([line]) => line)],
    (...statements) => context.side.send('reading lines', ...statements),
  );
  const wait = (id: number, count: number): void => {
    const limit = context.lines.line(id)?.limit ?? null;
    if (limit === null) return;
    const state = stateOf(limit.group, limit.key);
    state.waiting = Math.min(state.waiting + count, mostWaiting);
    if (limit.max !== null) state.max = Math.min(state.max ?? limit.max, limit.max);
  };
  for (const [line] of homes) wait(line, 1);
  for (const [, line] of waiting) wait(line, 0);
  const shown = [...states.values()].sort(byGroupAndKey).slice(0, mostStates);
  const isShown = new Set(shown);
  const counted = waiting.filter(([, id]) => {
    const limit = context.lines.line(id)?.limit ?? null;
    return limit !== null && isShown.has(stateOf(limit.group, limit.key));
  });
  for (let at = 0; at < counted.length; at += countedAtOnce) {
    const part = counted.slice(at, at + countedAtOnce).map(([queueId, line]) => ({ queueId, line }));
    for (const row of await read(context, countInLines(t, part, mostWaiting)))
      wait(Number(row[0]), Number(row[1]));
  }
  return shown.filter((state) => state.running > 0 || state.waiting > 0);
}

async function read(context: Context, statement: Sql): Promise<readonly (readonly unknown[])[]> {
  const [result] = await context.side.send('looking at limits', statement);
  return result?.rows ?? [];
}

function byGroupAndKey(a: LimitState, b: LimitState): number {
  return compare(a.group, b.group) || compare(a.key ?? '', b.key ?? '');
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
