/**
 * Program of the child of a process lane. First the guard, so that from then on this process ends with its worker whatever
 * it loads; then the module; then one job after the other. An error while it loads is told on stderr, and ends it.
 */
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import type { OfferedClient } from '../../../../client/lane-child.js';
import { withDeadline } from '../../../../internal/deadline.js';
import { version } from '../../../../internal/version.js';
import type { HelloMessage } from '../messages.js';
import { LaneJobs } from './lane-jobs.js';
import { loadModule } from './load-module.js';
import { type OrderMessage, ParentLine } from './parent-line.js';

const guardMs = 30_000;
/** A file that another process holds is no reason not to work: only `settleInSync` wants it open. */
const fileMs = 2_000;

async function postGuard(): Promise<void> {
  const guard = new Thread(fileURLToPath(new URL('./guard-thread.js', import.meta.url)), {
    name: 'millrace-guard',
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  } as ConstructorParameters<typeof Thread>[1]);
  const posted = new Promise((resolve, reject) => {
    guard.once('message', resolve);
    guard.once('error', reject);
  });
  await withDeadline(posted, { ms: guardMs, name: 'start of the guard of a lane' });
  // Without a guard this process could outlive its worker.
  guard.on('exit', () => process.exit(1));
  guard.unref();
}

async function prepare(hello: HelloMessage): Promise<LaneJobs> {
  if (hello.version !== version) {
    throw new Error(
      `the worker runs millrace ${hello.version}, but ${version} is installed now. Restart the worker`,
    );
  }
  process.title = `millrace lane ${hello.lane}`;
  const client = await loadModule(hello);
  if (client.isFile) await openFile(client);
  return new LaneJobs(client, hello, line);
}

async function openFile(client: OfferedClient): Promise<void> {
  try {
    await withDeadline(client.storage(), { ms: fileMs, name: 'opening the database of a lane' });
  } catch {
    // It is tried again by whatever needs it, and told there.
  }
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

const line = new ParentLine();
let jobs: LaneJobs | null = null;

function take(message: OrderMessage): void {
  switch (message.type) {
    case 'hello':
      prepare(message)
        .then((prepared) => {
          jobs = prepared;
          line.send({ type: 'ready', names: message.names });
        })
        .catch(fail);
      break;
    case 'run':
      jobs?.run(message);
      break;
    case 'abort':
      jobs?.abort(message.run, message.cause);
      break;
    case 'bye':
      process.exit(0);
      break;
  }
}

await postGuard().catch(fail);
line.open(take);
