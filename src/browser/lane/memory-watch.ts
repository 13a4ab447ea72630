import {
  judgeMemory,
  type MemoryLimits,
  type MemorySample,
  memoryLimits,
} from '../../core/browser-lane-rules.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import type { LaneUsage } from '../../worker/lanes/lane.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { isRenderer, measureGroup, membersOfGroup } from '../chrome/group-members.js';

const everyMs = 1_000;
const megabyte = 1024 ** 2;

export interface MemoryWatchPorts {
  /** @default those of the rules */
  readonly limits?: MemoryLimits;
  /** Ends its pages; why, in words. */
  readonly endPages: (why: string) => Promise<void>;
}

/** Looks at the memory of a Chrome and its children while a job runs in it, and ends what takes too much. */
export class MemoryWatch {
  readonly #chrome: ChromeProcess;
  readonly #ports: MemoryWatchPorts;
  #timer: { cancel(): void } | null = null;
  #isOver = false;
  #samples: MemorySample[] = [];
  #cpuMsBefore: number | null = null;
  #cpuMs = 0;
  #peakBytes = 0;

  constructor(chrome: ChromeProcess, ports: MemoryWatchPorts) {
    this.#chrome = chrome;
    this.#ports = ports;
    void this.#look();
  }

  get rssBytes(): number | null {
    return this.#samples.at(-1)?.chromeBytes ?? null;
  }

  /** What the job took; null when it was too short to be seen. */
  end(): LaneUsage | null {
    this.#isOver = true;
    this.#timer?.cancel();
    if (this.#cpuMsBefore === null) return null;
    return { cpuMs: Math.max(this.#cpuMs - this.#cpuMsBefore, 0), peakRssBytes: this.#peakBytes };
  }

  async #look(): Promise<void> {
    const { pid } = this.#chrome;
    if (pid === null) return;
    const members = await membersOfGroup(pid);
    if (this.#isOver) return;
    const chromeBytes = sum(members.map(({ rssBytes }) => rssBytes));
    const others = members.filter((member) => member.pid !== pid);
    const largest = others.sort((one, other) => other.rssBytes - one.rssBytes)[0];
    // Which of its processes run pages is asked only where one is large.
    const isLargePage =
      largest !== undefined && largest.rssBytes > 256 * megabyte && (await isRenderer(largest.pid));
    this.#cpuMs = sum(members.map(({ cpuMs }) => cpuMs));
    this.#cpuMsBefore ??= this.#cpuMs;
    this.#peakBytes = Math.max(this.#peakBytes, chromeBytes);
    const rendererBytes = isLargePage ? largest.rssBytes : 0;
    this.#samples = [...this.#samples.slice(-2), { atMs: monotonicMs(), chromeBytes, rendererBytes }];
    await this.#judge(pid, isLargePage ? largest.pid : null);
    if (!this.#isOver) this.#timer = setLongTimeout(() => void this.#look(), everyMs);
  }

  async #judge(pid: number, page: number | null): Promise<void> {
    const { limits = memoryLimits, endPages } = this.#ports;
    if (judgeMemory(this.#samples, { limits }) === 'fine') return;
    const { totalBytes, byPid } = await measureGroup(pid);
    if (this.#isOver) return;
    const rendererBytes = page === null ? 0 : (byPid.get(page) ?? 0);
    const verdict = judgeMemory(this.#samples, {
      measured: { chromeBytes: totalBytes, rendererBytes },
      limits,
    });
    if (verdict === 'end-chrome')
      this.#chrome.kill(`used ${inMb(totalBytes)} of memory, more than ${inMb(limits.chromeBytes)}`);
    if (verdict === 'end-renderer')
      await endPages(`its page was ended: it used ${inMb(rendererBytes)} of memory`);
  }
}

const inMb = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
