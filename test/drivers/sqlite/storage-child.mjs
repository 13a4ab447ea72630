/*
 * A storage in a process of its own: node storage-child.mjs <file> <synchronous>. Opens the file, then does what each
 * message asks for and answers once. Sources are loaded as they stand, so no build is needed.
 */
import { createJiti } from 'jiti';

// Without its cache on disk: a test run leaves nothing behind.
const jiti = createJiti(import.meta.url, { fsCache: false });
const { SqliteStorage } = await jiti.import('../../../src/storage/sqlite/storage.ts');
const { newJobs, claimRequest, completed } = await jiti.import('./jobs.ts');

const [, , file, synchronous] = process.argv;
const storage = new SqliteStorage({ file, synchronous });
await storage.open();

async function drain(limit) {
  const ids = [];
  let settlements = [];
  do {
    const { claimed } = await storage.exchange(settlements, claimRequest({ limit }));
    ids.push(...claimed.map(({ id }) => id));
    settlements = completed(claimed);
  } while (settlements.length > 0);
  return ids;
}

const deeds = {
  enqueue: ({ count }) => storage.enqueue(newJobs(count)),
  drain: ({ limit }) => drain(limit),
  migrate: () => storage.migrate().then(({ from, to }) => ({ from, to })),
};

process.on('message', async (message) => {
  try {
    process.send({ answer: await deeds[message.deed](message) });
  } catch (error) {
    process.send({ error: String(error) });
  }
});
process.on('disconnect', async () => {
  await storage.close();
  process.exit(0);
});
process.send({ answer: 'ready' });
