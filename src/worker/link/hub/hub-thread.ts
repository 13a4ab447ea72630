/** Entry of the link thread of a worker behind a hub: see `hub-control.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { ThreadWatch } from '../thread-watch.js';
import { HubControl } from './hub-control.js';
import type { HubDownMessage, HubThreadData, HubUpMessage } from './hub-link-messages.js';

const port = parentPort;
if (port === null) throw new Error('the link thread is started by a worker, not by itself');

const { watch: watchSettings, ...data } = workerData as HubThreadData;
const send = (message: HubUpMessage): void => port.postMessage(message);
const watch = new ThreadWatch(watchSettings, (level, message, fields) =>
  send({ type: 'log', level, message, fields }),
);
const control = new HubControl(data, (message) => {
  if (message.type === 'log') watch.logger[message.level](message.message, message.fields);
  else if (message.type === 'stopped') end();
  else send(message);
});

port.on('message', (message: HubDownMessage) => {
  if (message.type === 'report') watch.noteRunning(message.status.running);
  control.take(message);
});
send({ type: 'ready' });
control.start();

function end(): void {
  watch[Symbol.dispose]();
  send({ type: 'stopped' });
  port?.close();
}
