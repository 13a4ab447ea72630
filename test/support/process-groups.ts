import { readdirSync, readFileSync } from 'node:fs';

/** The processes of these groups that are there now, zombies left out. */
export function membersOfGroups(groups: Iterable<number>): number[] {
  const wanted = new Set(groups);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = statOf(pid);
      return stat !== null && stat.state !== 'Z' && wanted.has(stat.group);
    });
}

export function statOf(
  pid: number,
): { readonly state: string; readonly parent: number; readonly group: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent), group: Number(group) };
  } catch {
    // It ended while the list was read.
    return null;
  }
}

/** Whether a process runs. A zombie does not. */
export const isRunning = (pid: number): boolean => {
  const stat = statOf(pid);
  return stat !== null && stat.state !== 'Z';
};

/** The processes that this one has started itself. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent);
}
