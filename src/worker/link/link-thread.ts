/** Entry of the link thread: see link.ts. It also carries the duties, so that they never block handlers nor are blocked by them. */
import { parentPort, workerData } from 'node:worker_threads';
import { Duties } from '../../maintenance/duties.js';
import { createFileKeeper } from '../../storage/files/create-keeper.js';
import { createStorage } from '../../storage/open-storage.js';
import { openStoragePatiently } from '../open-storage-patiently.js';
import type { LinkListener } from './link.js';
import { LinkControl } from './link-control.js';
import type { LinkDownMessage, LinkThreadData, LinkUpMessage } from './link-messages.js';
import { ThreadWatch } from './thread-watch.js';

const port = parentPort;
if (port === null) throw new Error('the link thread is started by a worker, not by itself');

const data = workerData as LinkThreadData;
const send = (message: LinkUpMessage): void => port.postMessage(message);
const watch = new ThreadWatch(data.watch, (level, message, fields) =>
  send({ type: 'log', level, message, fields }),
);
const { logger } = watch;
const listener: LinkListener = {
  onRegistered: (adminState) => send({ type: 'registered', adminState }),
  onSnapshot: (snapshot) => send({ type: 'snapshot', snapshot }),
  onClockSkew: (skewMs) => send({ type: 'clock-skew', skewMs }),
  onAdminState: (adminState) => send({ type: 'admin-state', adminState }),
  onRecycleAsked: () => send({ type: 'recycle-asked' }),
  onLog: (level, message, fields) => logger[level](message, fields),
};

const stopping = new AbortController();
const storage = await createStorage(data.databaseUrl, { ...data.storageOptions, mustExist: true, logger });
const link = new LinkControl(storage, data.identity, data.settings, listener);
const duties =
  data.duties === null
    ? null
    : new Duties({
        storage,
        holder: data.identity.incarnation,
        logger,
        ...data.duties,
        files: createFileKeeper(data.files, () => Promise.resolve(storage)),
      });

port.on('message', (message: LinkDownMessage) => {
  if (message.type === 'report') {
    watch.noteRunning(message.status.running);
    link.report(message.status);
    duties?.noteProgress(message.status);
  } else {
    stopping.abort();
    void end(message.deadlineMs);
  }
});

let isOpen = false;
send({ type: 'ready' });
const opened = openStoragePatiently(
  async () => {
    await storage.open();
    return storage;
  },
  logger,
  stopping.signal,
);
try {
  await opened;
  if (!stopping.signal.aborted) {
    isOpen = true;
    await link.start();
    await duties?.start();
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error;
}

async function end(deadlineMs: number): Promise<void> {
  try {
    await duties?.stop({ deadlineMs });
    // Not open: nothing was registered from here, and there is nothing to be taken back.
    if (isOpen) await link.stop(deadlineMs);
    await storage.close();
  } catch (error) {
    logger.warn('the link thread could not end cleanly', { error: String(error) });
  }
  watch[Symbol.dispose]();
  send({ type: 'stopped' });
  port?.close();
}
