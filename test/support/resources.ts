import { readdirSync, readlinkSync } from 'node:fs';

/** What a process holds open, counted by kind: `handle PipeWrap`, `file socket`, `file /tmp/…`, `thread`. */
export function openResources(): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (kind: string): void => void counts.set(kind, (counts.get(kind) ?? 0) + 1);
  for (const kind of process.getActiveResourcesInfo()) count(`handle ${kind}`);
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      count(`file ${readlinkSync(`/proc/self/fd/${fd}`).replace(/[0-9]+|\[[^\]]*\]/g, '#')}`);
    } catch {
      // The one that was reading this folder.
    }
  }
  for (const _ of readdirSync('/proc/self/task')) count('thread');
  return counts;
}

/** What there is more of now than there was. */
export function grown(before: ReadonlyMap<string, number>, ignoring: RegExp = /^$/): string[] {
  return [...openResources()]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0) && !ignoring.test(kind))
    .map(([kind, count]) => `${kind}: ${before.get(kind) ?? 0} → ${count}`);
}
