import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, Millrace } from '../../dist/index.js';
import { createStorage } from '../../dist/storage/open-storage.js';

/**
 * Workers with nothing to do, all in this process over one storage that counts what it is asked: a storage that was handed
 * over keeps their links on the main loop, so that no server needs a connection for each of them. `online` is of all that
 * the database knows, other processes' too.
 */
export async function rest({ database, workers: count, restMs, heartbeatMs, windowMs }, parent) {
  const calls = new Map();
  const storage = counted(await createStorage(database), calls);
  const noop = defineJob('noop', { run: () => undefined });
  const millrace = new Millrace({ database: storage, jobs: [noop], heartbeat: heartbeatMs });
  const workers = Array.from({ length: count }, () => millrace.worker());
  await Promise.all(workers.map((worker) => worker.start()));
  // By then their looks for jobs have slowed down to the pace of rest.
  await delay(restMs);
  await parent.ready();
  await parent.told('go');

  // All are there by now, and none leaves before its time of measurement is over.
  const online = (await millrace.workers()).filter(({ status }) => status !== 'offline').length;
  calls.clear();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await delay(windowMs);
  const cpu = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedMs) / 1_000;
  const made = Object.fromEntries(calls);
  await Promise.all(workers.map((worker) => worker.stop()));
  await millrace.close();
  await storage.close();
  return { calls: made, cpuS: (cpu.user + cpu.system) / 1e6, seconds, online };
}

/** The storage itself, each call of a method noted under its name. */
function counted(storage, calls) {
  return new Proxy(storage, {
    get(target, key) {
      const value = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args) => {
        calls.set(key, (calls.get(key) ?? 0) + 1);
        return value.apply(target, args);
      };
    },
  });
}
