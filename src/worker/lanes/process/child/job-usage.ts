import { readFileSync, writeFileSync } from 'node:fs';
import type { LaneUsage } from '../../lane.js';

const microsecondsPerMs = 1000;
const kilobyte = 1024;

/** What one job takes of its process: begun before it, asked for after it. */
export class JobUsage {
  readonly #cpuMsBefore = cpuMs();
  readonly #isMarked = putBackPeak();

  end(): LaneUsage {
    const used = Math.round(Math.max(cpuMs() - this.#cpuMsBefore, 0));
    const peak = this.#isMarked ? peakSinceMark() : null;
    return { cpuMs: used, peakRssBytes: peak ?? process.memoryUsage.rss() };
  }
}

function cpuMs(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / microsecondsPerMs;
}

/** The kernel keeps the peak of a process since its start, or since this was written. */
function putBackPeak(): boolean {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
    return true;
  } catch {
    // Not Linux, or not allowed: what is resident at the end has to do.
    return false;
  }
}

function peakSinceMark(): number | null {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return match === null ? null : Number(match[1]) * kilobyte;
}
