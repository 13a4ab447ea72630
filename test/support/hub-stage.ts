import { Hub } from '../../src/hub/hub.js';
import type { HubOptions } from '../../src/hub/hub-options.js';
import { createLineLogger } from '../../src/internal/logger.js';
import { resolveSettings, type SettingValues } from '../../src/internal/settings.js';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { NewJob } from '../../src/storage/new-job.js';
import type { Storage } from '../../src/storage/storage.js';

/** A hub that runs on any free port, with what it logged. */
export interface HubStage extends AsyncDisposable {
  readonly hub: Hub;
  readonly url: string;
  readonly logged: string[];
}

export function hubSettingValues(environment: Readonly<Record<string, string>> = {}): SettingValues {
  return resolveSettings({ env: environment }).values;
}

/** `times`: shorter than in production where a test waits for them. */
export async function openHub(
  storage: NonNullable<HubOptions['storage']>,
  options: Partial<HubOptions> & { readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<HubStage> {
  const { environment, ...rest } = options;
  const logged: string[] = [];
  const hub = new Hub({
    storage,
    settings: hubSettingValues(environment),
    port: 0,
    logger: createLineLogger({ write: (line) => logged.push(line), level: 'debug' }),
    ...rest,
  });
  await hub.start();
  return { hub, url: hub.url, logged, [Symbol.asyncDispose]: () => hub.stop() };
}

export function newJob(with_: Partial<NewJob> = {}): NewJob {
  return {
    id: uuidv7(),
    name: 'work',
    queue: 'default',
    payload: '{"n":1}',
    version: 1,
    tags: [],
    priority: 0,
    due: { inMs: 0 },
    maxAttempts: 3,
    retentionMs: null,
    unique: null,
    idempotency: null,
    after: null,
    limit: null,
    cost: 1,
    requires: [],
    ...with_,
  };
}

/** Enqueues so many and returns their ids. */
export async function addJobs(
  storage: Storage,
  count: number,
  with_: Partial<NewJob> = {},
): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => newJob(with_));
  await storage.enqueue(jobs);
  return jobs.map(({ id }) => id);
}
