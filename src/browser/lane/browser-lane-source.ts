import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaneSource } from '../../worker/lanes/lane.js';
import { ChromeProcess } from '../chrome/chrome-process.js';
import type { UsableChrome } from '../chrome/sandbox.js';
import { BrowserLane } from './browser-lane.js';

export interface BrowserLaneSourceOptions {
  /** How many, at least 1. */
  readonly size: number;
  readonly chrome: UsableChrome;
}

const reapMs = 10_000;

/** The browser lanes of a worker. */
export function browserLaneSource({ size, chrome }: BrowserLaneSourceOptions): LaneSource {
  return {
    kind: 'browser',
    create: (ports) =>
      Array.from(
        { length: size },
        (_, index) => new BrowserLane({ number: index + 1, ports, spawn: () => spawnChrome(chrome) }),
      ),
  };
}

async function spawnChrome(chrome: UsableChrome): Promise<ChromeProcess> {
  return ChromeProcess.spawn({
    ...chrome,
    folder: await mkdtemp(join(tmpdir(), 'millrace-chrome-')),
    onStderr: () => undefined,
    onListenerError: () => undefined,
    reapMs,
  });
}
