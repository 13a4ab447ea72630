/* How much other programs use of the machine, by Linux' /proc; elsewhere it is not known and nothing waits. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const ticksPerSecond = 100;
const quietCores = 0.2;
const lookMs = 400;
/** Part of what is measured; kernel threads work for everybody. */
const servers = new Set(['postgres', 'mariadbd', 'mysqld', 'kthreadd']);

export class Neighbours {
  #before = readProcesses();
  #beforeMs = performance.now();

  /** Cores that others used since this was made; null where that can't be known. */
  cores() {
    const now = readProcesses();
    if (now === null || this.#before === null) return null;
    let ticks = 0;
    for (const [pid, { cpu }] of now) {
      if (!isOurs(now, pid)) ticks += cpu - (this.#before.get(pid)?.cpu ?? 0);
    }
    const seconds = (performance.now() - this.#beforeMs) / 1_000;
    return Math.round((ticks / ticksPerSecond / seconds) * 100) / 100;
  }
}

/** Resolves once others use less than 0.2 of a core, or after `mostMs`. */
export async function untilQuiet(mostMs) {
  const deadline = performance.now() + mostMs;
  while (performance.now() < deadline) {
    const neighbours = new Neighbours();
    await delay(lookMs);
    const cores = neighbours.cores();
    if (cores === null || cores < quietCores) return;
  }
}

function readProcesses() {
  if (process.platform !== 'linux') return null;
  const found = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8');
      const end = text.lastIndexOf(')');
      const fields = text.slice(end + 2).split(' ');
      const command = text.slice(text.indexOf('(') + 1, end);
      found.set(Number(name), {
        command,
        parent: Number(fields[1]),
        cpu: Number(fields[11]) + Number(fields[12]),
      });
    } catch {
      // It ended between the listing and the look.
    }
  }
  return found;
}

function isOurs(processes, pid) {
  for (let at = pid; at > 1; ) {
    const found = processes.get(at);
    if (at === process.pid || found === undefined || servers.has(found.command)) return true;
    at = found.parent;
  }
  return false;
}
