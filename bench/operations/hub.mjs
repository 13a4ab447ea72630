import { setTimeout as delay } from 'node:timers/promises';
import { Hub } from '../../dist/hub/index.js';
import { openClient } from './client.mjs';
import { LinkedClients } from './linked-clients.mjs';

const mebibyte = 2 ** 20;

/** A hub in this process until it is told to finish. */
export async function serve({ database }, parent) {
  const { millrace } = openClient(database);
  const hub = new Hub({ client: millrace, port: 0 });
  await hub.start();
  await hub.ready();
  await parent.ready({ url: hub.url.replace('http:', 'ws:') });
  await parent.told('finish');
  await hub.stop();
  await millrace.close();
  return {};
}

/**
 * A hub, and clients of the protocol that beat and wait for work, in another process: what they cost the hub. Then it
 * goes down and comes back at the same address, and all come back.
 */
export async function serveIdle({ database, restMs, windowMs }, parent) {
  const { millrace } = openClient(database);
  let hub = new Hub({ client: millrace, port: 0 });
  await hub.start();
  await hub.ready();
  const { port } = hub;
  await parent.ready({ url: hub.url.replace('http:', 'ws:') });
  await parent.told('go');
  await delay(restMs);
  const connected = hub.health.workers;
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await delay(windowMs);
  const cpu = process.cpuUsage(cpuBefore);
  const cores = (cpu.user + cpu.system) / 1_000 / (performance.now() - startedMs);
  const rss = process.memoryUsage.rss() / mebibyte;
  await hub.stop();
  hub = new Hub({ client: millrace, port });
  const lag = watchLag();
  const stormMs = performance.now();
  await hub.start();
  while (hub.health.workers < connected && performance.now() - stormMs < 60_000) await delay(20);
  const back = hub.health.workers;
  const result = { connected, cores, rss, back, backMs: performance.now() - stormMs, lagMs: lag() };
  await hub.stop();
  await millrace.close();
  return result;
}

export async function connectIdle({ hub, workers, windowMs }, parent) {
  const clients = new LinkedClients(hub, workers);
  await clients.open();
  await parent.ready();
  await parent.told('finish');
  clients.close();
  return { windowMs };
}

/** The longest time for which the loop did not turn. */
function watchLag() {
  let last = performance.now();
  let worst = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 10);
    last = now;
  }, 10);
  return () => {
    clearInterval(timer);
    return worst;
  };
}
