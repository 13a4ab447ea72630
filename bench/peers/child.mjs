/* One operation of one queue in one process: argv[2] is `{ operation, queue, database, … }`, the answer goes over IPC. */
import { connectToParent } from '../parent.mjs';
import { queueOf } from './catalog.mjs';
import { OPERATIONS } from './operations.mjs';

await connectToParent(async (spec, parent) => {
  const queue = queueOf(spec.queue);
  const { openQueue } = await import(`./adapters/${queue.module}.mjs`);
  const open = (about) => openQueue({ database: spec.database, queue, ...about });
  return OPERATIONS[spec.operation](spec, { open, parent });
});
