import { setTimeout as delay } from 'node:timers/promises';
import { Child, runChild } from './child-process.mjs';
import { perSecond } from './clock.mjs';
import { problemsOfDrain } from './counts.mjs';
import { Neighbours, untilQuiet } from './quiet.mjs';

const drainDeadlineMs = 300_000;

/** Measures on one engine, and hands a row to `emit` for each. */
export class Bench {
  #engine;
  #target;
  #gateMs;
  #emit;

  constructor({ engine, target, gateMs, emit }) {
    this.#engine = engine;
    this.#target = target;
    this.#gateMs = gateMs;
    this.#emit = emit;
  }

  get engine() {
    return this.#engine;
  }

  /** An empty database for what `use` does. */
  async withDatabase(use) {
    const database = await this.#target.create();
    try {
      return await use(database);
    } finally {
      await database[Symbol.asyncDispose]();
    }
  }

  /** Waits for quiet, measures, and emits what `measure` answers, a failure as well. */
  async row(about, measure) {
    await untilQuiet(this.#gateMs);
    const neighbours = new Neighbours();
    const row = { engine: this.#engine, ...about };
    try {
      const result = await measure();
      this.#emit({ ...row, ...result, others: neighbours.cores() });
      return result;
    } catch (error) {
      this.#emit({ ...row, problems: [error.message], others: neighbours.cores() });
      return null;
    }
  }

  /** A worker in one process, the dispatches from another. */
  async pickUpAcross(database, spec) {
    const worker = new Child({ operation: 'pick-up', database, isAlone: false, ...spec }, drainDeadlineMs);
    try {
      await worker.next('ready');
      await runChild({ operation: 'produce', database, ...spec });
      worker.send({ type: 'produced' });
      return (await worker.next('result')).result;
    } finally {
      await worker.end(worker.failure === null ? undefined : 0);
    }
  }

  /** Workers with nothing to do, in equal shares over the processes: what they all use in the same stretch of time. */
  async rest(database, { workers, processes, ...spec }) {
    const each = { operation: 'rest', database, workers: workers / processes, ...spec };
    const children = Array.from({ length: processes }, () => new Child(each, drainDeadlineMs));
    try {
      for (const child of children) await child.next('ready');
      for (const child of children) child.send({ type: 'go' });
      const parts = [];
      for (const child of children) parts.push((await child.next('result')).result);
      return summariseRest(parts, workers);
    } finally {
      for (const child of children) await child.end(children.some(({ failure }) => failure) ? 0 : undefined);
    }
  }

  /** A hub in a process of its own, for what `use` does with its address. */
  async withHub(database, use) {
    const hub = new Child({ operation: 'serve', database }, drainDeadlineMs);
    try {
      const { url } = await hub.next('ready');
      const answer = await use(url);
      hub.send({ type: 'finish' });
      await hub.next('result');
      return answer;
    } finally {
      await hub.end(hub.failure === null ? undefined : 0);
    }
  }

  /** Clients of the protocol that wait, and come back when their hub has gone down and up. */
  async hubAtRest(database, { workers, restMs, windowMs }) {
    const hub = new Child({ operation: 'serve-idle', database, restMs, windowMs }, drainDeadlineMs);
    let clients = null;
    try {
      const { url } = await hub.next('ready');
      clients = new Child({ operation: 'connect-idle', hub: url, workers, windowMs }, drainDeadlineMs);
      await clients.next('ready');
      hub.send({ type: 'go' });
      const { result } = await hub.next('result');
      clients.send({ type: 'finish' });
      const { connected, back } = result;
      const problems = [
        ...(connected === workers ? [] : [`${connected} of ${workers} were connected`]),
        ...(back === workers ? [] : [`${back} of ${workers} came back`]),
      ];
      return { ...result, problems };
    } finally {
      await hub.end(hub.failure === null ? undefined : 0);
      await clients?.end(0);
    }
  }

  /** Drains what was loaded, with `processes` of that concurrency, each a worker with the database or behind a hub. */
  async drain(
    database,
    { hub, jobs, concurrency, processes = 1, from = 0, completedBefore = 0, stampEvery },
  ) {
    const spec = { operation: 'drain', database, hub, concurrency, from, jobs, stampEvery };
    const children = Array.from({ length: processes }, () => new Child(spec, drainDeadlineMs));
    try {
      for (const child of children) await child.next('ready');
      for (const child of children) child.send({ type: 'go' });
      await untilDone(children, jobs);
      for (const child of children) child.send({ type: 'finish' });
      const parts = [];
      for (const child of children) parts.push((await child.next('result')).result);
      return summarise(parts, { jobs, completedBefore });
    } finally {
      for (const child of children) await child.end(children.some(({ failure }) => failure) ? 0 : undefined);
    }
  }
}

/** Also ends when nothing more has been completed for a while: the counts then say what is missing. */
async function untilDone(children, jobs) {
  const stuckMs = 15_000;
  let before = 0;
  let beforeMs = performance.now();
  for (;;) {
    const done = children.reduce((sum, { progress }) => sum + progress, 0);
    if (done >= jobs || children.some(({ failure }) => failure !== null)) return;
    if (done !== before) {
      before = done;
      beforeMs = performance.now();
    } else if (performance.now() - beforeMs > stuckMs) return;
    await delay(5);
  }
}

function summariseRest(parts, workers) {
  const sum = (read) => parts.reduce((total, part) => total + read(part), 0);
  const calls = {};
  for (const part of parts) {
    for (const [name, count] of Object.entries(part.calls)) {
      calls[name] = (calls[name] ?? 0) + count / part.seconds;
    }
  }
  const online = Math.min(...parts.map((part) => part.online));
  return {
    cores: sum(({ cpuS, seconds }) => cpuS / seconds),
    callsPerSec: sum(({ calls: made, seconds }) => total(made) / seconds),
    calls,
    problems: [
      ...(online === workers ? [] : [`${online} of ${workers} workers were registered`]),
      ...(calls.heartbeat > 0 ? [] : ['no worker gave a sign of life']),
    ],
  };
}

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

function summarise(parts, { jobs, completedBefore }) {
  const [first] = parts;
  const startedUs = Math.min(...parts.map((part) => part.startedUs));
  const settledUs = Math.max(...parts.map((part) => part.settledUs));
  const firstUs = Math.min(...parts.filter(({ count }) => count > 0).map((part) => part.firstUs));
  const handled = parts.reduce((sum, { count }) => sum + count, 0);
  return {
    perSec: perSecond(handled, settledUs - startedUs),
    startMs: (firstUs - startedUs) / 1_000,
    jobs: handled,
    share: parts.map(({ count }) => count),
    stamps: first.stamps.map(({ count, us, rss }) => ({ count, ms: (us - startedUs) / 1_000, rss })),
    memory: first.memory,
    cpuS: parts.reduce((sum, { cpuS }) => sum + cpuS, 0),
    problems: problemsOfDrain({
      jobs,
      parts,
      completed: first.completed - completedBefore,
      unfinished: first.unfinished,
    }),
  };
}
