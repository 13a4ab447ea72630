import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaneSource } from '../../worker/lanes/lane.js';
import { ChromeProcess } from '../chrome/chrome-process.js';
import { type FoundChrome, findChrome } from '../chrome/find-chrome.js';
import { BrowserLane } from './browser-lane.js';

export interface BrowserLaneSourceOptions {
  /** How many, at least 1. */
  readonly size: number;
  /** Null: looked for. */
  readonly chromePath: string | null;
}

const reapMs = 10_000;

/** The browser lanes of a worker; null where there is no Chrome. */
export function browserLaneSource({ size, chromePath }: BrowserLaneSourceOptions): LaneSource | null {
  const found = findChrome(chromePath);
  if (found === null) return null;
  return {
    kind: 'browser',
    create: (ports) =>
      Array.from(
        { length: size },
        (_, index) => new BrowserLane({ number: index + 1, ports, spawn: () => spawnChrome(found) }),
      ),
  };
}

async function spawnChrome({ executable, libraries }: FoundChrome): Promise<ChromeProcess> {
  return ChromeProcess.spawn({
    executable,
    libraries,
    folder: await mkdtemp(join(tmpdir(), 'millrace-chrome-')),
    hasSandbox: process.getuid?.() !== 0,
    hasSmallShm: false,
    onStderr: () => undefined,
    onListenerError: () => undefined,
    reapMs,
  });
}
