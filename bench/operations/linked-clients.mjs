import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';

const queues = ['default'];
const names = ['noop'];
const usage = { cpu: 0, rssBytes: 0, heapBytes: 0, loopLagMs: 0, disk: null };
const status = {
  ...{ state: 'RUNNING', transitions: [], drain: null, running: 0, lanes: [], jobsDone: 0 },
  ...{ usage, details: {} },
};
const firstWaitMs = 500;
const mostWaitMs = 15_000;

/** Clients of the protocol, not workers: they say hello, want work, beat, and come back with jitter when they lose the hub. */
export class LinkedClients {
  #url;
  #sockets = new Set();
  #isClosed = false;
  #ids;

  constructor(url, count) {
    this.#url = url;
    this.#ids = Array.from({ length: count }, (_, index) => ({
      worker: `bench-${index}`,
      incarnation: randomBytes(8).toString('hex'),
    }));
  }

  /** Resolves once all were welcomed; some at a time, as hosts come up. */
  async open() {
    const width = 25;
    for (let first = 0; first < this.#ids.length; first += width) {
      await Promise.all(this.#ids.slice(first, first + width).map((id) => this.#connect(id, 0)));
    }
  }

  close() {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  /** Resolves with the first welcome. */
  #connect(id, failures) {
    return new Promise((resolve) => {
      const socket = new WebSocket(`${this.#url}/workers/${id.worker}/link`, 'millrace.v1');
      this.#sockets.add(socket);
      let beat = null;
      let tries = failures;
      let sent = 0;
      const send = (message) => {
        sent += 1;
        socket.send(JSON.stringify({ ...message, id: sent }));
      };
      socket.on('open', () => send(helloOf(id)));
      socket.on('message', (data) => {
        const message = JSON.parse(String(data));
        if (message.type !== 'welcome') return;
        tries = 0;
        send({ type: 'settle', settlements: [], want: wantOf() });
        beat = setInterval(() => send({ type: 'beat', status }), message.heartbeatMs);
        resolve();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(beat);
        this.#sockets.delete(socket);
        if (this.#isClosed) return;
        const waitMs = Math.min(mostWaitMs, firstWaitMs * 2 ** tries) * Math.random();
        setTimeout(() => void this.#connect(id, tries + 1).then(resolve), waitMs);
      });
    });
  }
}

function helloOf({ incarnation }) {
  return {
    ...{ type: 'hello', incarnation, ended: null, host: 'bench', pid: process.pid, version: '0.0.0' },
    ...{ queues, handlers: names.map((name) => ({ name, lane: 'inline' })), labels: [], concurrency: 10 },
    ...{ restarts: 0, held: [], status },
  };
}

const wantOf = () => ({ after: 0, takes: [{ queues, names, limit: 10, start: 10 }], alone: false });
