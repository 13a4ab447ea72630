/**
 * One world: a database in memory, a client that dispatches, worker processes with all of their production code, and two
 * hands that disturb them, chance and an operator. After the disturbances everything is healed, and every job must end.
 */
import { defineJob } from '../../src/client/define-job.js';
import type { JobContext } from '../../src/client/job-context.js';
import { Millrace } from '../../src/client/millrace.js';
import { silentLogger } from '../../src/internal/logger.js';
import { uuidv7 as newJobId } from '../../src/internal/uuid.js';
import { MemoryStorage } from '../../src/storage/memory/storage.js';
import type { Storage } from '../../src/storage/storage.js';
import type { WorkerChange } from '../../src/storage/worker-record.js';
import type { Worker } from '../../src/worker/worker.js';
import { Random } from '../model/random.js';
import { Record, stubbornName } from './record.js';
import { type LinkedNode, type SimNetwork, storageOf } from './sim-storage.js';
import { type SimNode, SimTime } from './sim-time.js';

export interface WorldOptions {
  readonly seed: number;
  /** Wraps the storage with a fault that must be found. */
  readonly plant?: (storage: Storage, random: Random) => Storage;
  readonly trace?: (line: string) => void;
}

export interface WorldReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly jobs: number;
  readonly simulatedMs: number;
}

const jobCount = 200;
const workerCount = 3;
const disturbedMs = 60_000;
const mostMs = 30 * 60_000;
const dayMs = 86_400_000;
const firstDayMs = Date.UTC(2030, 0, 1);
const queues = ['a', 'b', 'c'];
const settings = {
  staleTimeout: '9s',
  heartbeat: '2s',
  workerTtl: '20s',
  workerSleep: '1s',
  killGrace: '1s',
  stopTimeout: '4s',
  resourceAdmission: 'off',
} as const;

interface WorkerNode extends LinkedNode {
  client: Millrace;
  worker: Worker;
}

export class World {
  readonly #random: Random;
  readonly #time: SimTime;
  readonly #record: Record;
  readonly #network: SimNetwork = { isFaulty: true, isDown: false };
  readonly #database: SimNode = blankNode('database');
  readonly #inner: Storage;
  readonly #options: WorldOptions;
  /** By place; a worker that died is followed by another in its place. */
  readonly #workers: (WorkerNode | null)[] = Array.from({ length: workerCount }, () => null);
  readonly #queueLists: string[];
  #lives = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#time = new SimTime(firstDayMs + options.seed * dayMs, this.#random);
    this.#record = new Record(this.#time);
    this.#record.trace = options.trace ?? null;
    const storage = new MemoryStorage();
    this.#inner = options.plant === undefined ? storage : options.plant(storage, this.#random);
    this.#queueLists = Array.from({ length: workerCount }, () =>
      this.#random.pick(['a,b,c', 'a:3,b:2,c:1', '*', 'c,b,a']),
    );
  }

  async run(): Promise<WorldReport> {
    this.#time.install();
    try {
      let isOver = false;
      this.#time.as(blankNode('stage'), () => {
        this.#play()
          .catch((error: unknown) => this.#record.violate(`the world broke: ${String(error)}`))
          .finally(() => {
            isOver = true;
          });
      });
      await this.#time.run(() => isOver, mostMs);
      if (!isOver) this.#record.violate('the world did not come to rest');
      return {
        seed: this.#options.seed,
        violations: this.#record.violations,
        counts: this.#record.counts,
        jobs: this.#record.jobs.size,
        simulatedMs: Math.round(this.#time.nowMs),
      };
    } finally {
      this.#time.uninstall();
    }
  }

  async #play(): Promise<void> {
    await this.#asDatabase((storage) => storage.open());
    for (let place = 0; place < workerCount; place += 1) this.#spawn(place);
    const dispatched = this.#dispatch();
    while (this.#time.nowMs < disturbedMs) {
      await this.#time.pause(200 + this.#random.int(2_500));
      await this.#disturb();
    }
    await this.#heal();
    await dispatched;
    await this.#untilAllEnded();
    await this.#asDatabase((storage) => this.#record.judge(storage));
    for (const node of this.#workers) if (node !== null) await this.#stop(node, 'at the end');
  }

  #asDatabase<T>(work: (storage: Storage) => Promise<T>): Promise<T> {
    return this.#time.as(this.#database, () => work(this.#inner));
  }

  #storage(node: LinkedNode): Storage {
    return storageOf(node, {
      time: this.#time,
      random: this.#random,
      network: this.#network,
      record: this.#record,
      database: this.#database,
      inner: this.#inner,
    });
  }

  // ── jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────
  #jobs(node: SimNode) {
    const run =
      (kind: (context: JobContext<{ ms: number }>) => Promise<unknown>) =>
      async (context: JobContext<{ ms: number }>) => {
        const jobId = context.job.id;
        const token = this.#record.tokens.get(node)?.get(jobId) ?? '';
        const facts = { jobId, token, worker: node.name };
        this.#record.note({ kind: 'started', ...facts });
        try {
          return await kind(context);
        } finally {
          this.#record.note({ kind: 'ended', ...facts });
        }
      };
    const nap = (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      });
    const random = this.#random;
    const quick = { backoff: { type: 'fixed', base: '500ms' } } as const;
    return [
      defineJob('plain', { ...quick, run: run(({ input, signal }) => nap(input.ms, signal)) }),
      defineJob('flaky', {
        ...quick,
        attempts: 4,
        run: run(async ({ input, signal }) => {
          await nap(input.ms, signal);
          if (random.chance(0.4)) throw new Error('it broke');
          return 1;
        }),
      }),
      defineJob('later', {
        ...quick,
        run: run(async (context) => {
          await nap(context.input.ms, context.signal);
          return random.chance(0.5) ? context.snooze(500 + random.int(3_000)) : 1;
        }),
      }),
      defineJob('long', { ...quick, run: run(({ signal }) => nap(12_000 + random.int(15_000), signal)) }),
      defineJob('slow', {
        ...quick,
        attempts: 2,
        timeout: '800ms',
        run: run(({ input, signal }) => nap(input.ms, signal)),
      }),
      defineJob(stubbornName, {
        ...quick,
        attempts: 2,
        timeout: '1s',
        run: run(({ input }) => new Promise((resolve) => setTimeout(resolve, input.ms * 4))),
      }),
      defineJob('limited', {
        ...quick,
        limit: { group: 'narrow', max: 2 },
        run: run(({ input, signal }) => nap(input.ms, signal)),
      }),
    ];
  }

  async #dispatch(): Promise<void> {
    const node: LinkedNode = { ...blankNode('client'), isCutOff: false };
    const random = this.#random;
    await this.#time.as(node, async () => {
      const jobs = this.#jobs(node);
      const client = new Millrace({
        database: this.#storage(node),
        jobs,
        logger: silentLogger,
        dispatchTimeout: '5m',
        ...settings,
      });
      const ids: string[] = [];
      while (ids.length < jobCount) {
        const size = 1 + random.int(12);
        const batch = Array.from({ length: size }, () => ({
          job: random.pick(jobs).name,
          input: { ms: random.int(1_500) },
          options: {
            queue: random.pick(queues),
            priority: random.int(3),
            ...(random.chance(0.15) ? { delay: random.int(20_000) } : {}),
            ...(random.chance(0.15) && ids.length > 0
              ? {
                  after: {
                    jobs: [random.pick(ids)],
                    onFailure: random.pick(['bury', 'cancel', 'run'] as const),
                  },
                }
              : {}),
            ...(random.chance(0.05) ? { unique: true } : {}),
          },
        }));
        try {
          const handles = await client.dispatchMany(batch as never);
          for (const { id } of handles as readonly { id: string }[]) ids.push(id);
        } catch (error) {
          // A parent that an operator deleted meanwhile refuses its row, and only that.
          this.#record.say(`dispatch: ${String(error)}`);
        }
        await this.#time.pause(random.int(3_000));
      }
      await client.close();
    });
  }

  // ── workers ───────────────────────────────────────────────────────────────────────────────────────────────────
  #spawn(place: number): void {
    this.#lives += 1;
    const node = { ...blankNode(`w${place}.${this.#lives}`), isCutOff: false } as WorkerNode;
    this.#workers[place] = node;
    this.#record.say(`spawn ${node.name}`);
    // Some are stopped before they are known to the database.
    const isBrief = this.#network.isFaulty && this.#random.chance(0.1);
    if (isBrief) this.#time.at(this.#random.int(4), () => void this.#restart(place, node));
    this.#time.as(node, () => {
      const jobs = this.#jobs(node);
      node.client = new Millrace({ database: this.#storage(node), jobs, logger: silentLogger, ...settings });
      node.worker = node.client.worker({
        queues: this.#queueLists[place] as string,
        concurrency: 2 + this.#random.int(4),
      });
      let before = 'new';
      node.client.on('worker:state', ({ state }) => {
        this.#record.count(`${before} → ${state}`);
        this.#record.say(`${node.name} ${before} → ${state}`);
        before = state === 'EXIT' ? 'new' : state;
      });
      node.worker
        .start()
        // A worker that has not registered yet is called by an id drawn at random, which no seed repeats.
        .catch((error: unknown) => {
          const why = String(error).replace(/\bw-[0-9a-f]{8}\b/g, node.name);
          this.#record.say(`${node.name} did not start: ${why}`);
        });
    });
  }

  async #stop(node: WorkerNode, why: string): Promise<void> {
    this.#record.say(`stop ${node.name} ${why}`);
    const stopped = this.#time.as(node, () => node.worker.stop().then(() => node.client.close()));
    await Promise.race([stopped, this.#time.pause(60_000).then(() => this.#mayBeLate(node))]);
  }

  #mayBeLate(node: WorkerNode): void {
    if (!node.isDead && !node.isFrozen && !node.isCutOff && !this.#network.isDown)
      this.#record.violate(`${node.name} did not stop within a minute`);
  }

  // ── what disturbs them ────────────────────────────────────────────────────────────────────────────────────────
  async #disturb(): Promise<void> {
    const { place, node } = this.#aWorker();
    const random = this.#random;
    const act = random.int(22);
    if (act <= 1) this.#crash(place, node);
    else if (act <= 3) this.#freeze(node, random.int(20_000));
    else if (act <= 5) this.#cutOff(node, random.int(25_000));
    else if (act === 6) this.#outage(random.int(12_000));
    else if (act === 7) this.#stepClock(node);
    else if (act <= 9) void this.#restart(place, node);
    else if (act <= 13) await this.#orderWorker(node);
    else if (act <= 15) await this.#pauseQueue();
    else await this.#changeJob();
  }

  #aWorker(): { place: number; node: WorkerNode } {
    const there = this.#workers.flatMap((node, place) => (node === null ? [] : [{ place, node }]));
    if (there.length > 0) return this.#random.pick(there);
    this.#spawn(0);
    return { place: 0, node: this.#workers[0] as WorkerNode };
  }

  #crash(place: number, node: WorkerNode): void {
    this.#record.count('fault: crash');
    this.#record.note({ kind: 'killed', worker: node.name });
    this.#time.kill(node);
    this.#workers[place] = null;
    this.#time.at(this.#random.int(10_000), () => {
      if (this.#workers[place] === null) this.#spawn(place);
    });
  }

  #freeze(node: WorkerNode, ms: number): void {
    if (node.isFrozen) return;
    this.#record.count('fault: freeze');
    this.#record.say(`freeze ${node.name} for ${ms}`);
    node.isFrozen = true;
    this.#time.at(ms, () => {
      node.isFrozen = false;
      this.#record.say(`thaw ${node.name}`);
    });
  }

  #cutOff(node: WorkerNode, ms: number): void {
    this.#record.count('fault: cut');
    this.#record.say(`cut ${node.name} off for ${ms}`);
    node.isCutOff = true;
    this.#time.at(ms, () => {
      node.isCutOff = false;
      this.#record.say(`join ${node.name}`);
    });
  }

  #outage(ms: number): void {
    this.#record.count('fault: outage');
    this.#network.isDown = true;
    this.#time.at(ms, () => {
      this.#network.isDown = false;
    });
  }

  #stepClock(node: WorkerNode): void {
    this.#record.count('fault: clock step');
    node.clockOffsetMs += this.#random.int(7_200_000) - 3_600_000;
  }

  async #restart(place: number, node: WorkerNode): Promise<void> {
    this.#record.count('stop and start');
    this.#workers[place] = null;
    await this.#stop(node, 'and start');
    // What still hangs in it, a real process would have taken along.
    this.#record.note({ kind: 'killed', worker: node.name });
    this.#time.kill(node);
    if (this.#workers[place] === null) this.#spawn(place);
  }

  async #orderWorker(node: WorkerNode): Promise<void> {
    const order = this.#random.pick(['drain', 'standby', 'active', 'recycle'] as const);
    this.#record.count(`order: ${order}`);
    this.#record.say(`order ${order} to ${node.name}`);
    const id = node.worker.id;
    await this.#order(id, order);
    if (order === 'active' || order === 'recycle') return;
    this.#time.at(this.#random.int(15_000), () => void this.#order(id, 'active'));
  }

  async #order(id: string, order: 'drain' | 'standby' | 'active' | 'recycle'): Promise<void> {
    await this.#asDatabase((storage) => orderWorker(storage, id, order));
  }

  async #pauseQueue(): Promise<void> {
    this.#record.count('pause of a queue');
    const queue = this.#random.pick(queues);
    await this.#asDatabase((storage) => storage.setPaused(queue, true));
    this.#time.at(this.#random.int(10_000), () => {
      void this.#asDatabase((storage) => storage.setPaused(queue, false));
    });
  }

  async #changeJob(): Promise<void> {
    const ids = [...this.#record.jobs];
    if (ids.length === 0) return;
    const id = this.#random.pick(ids);
    const kind = this.#random.pick(['cancel', 'bury', 'retry', 'retry'] as const);
    await this.#asDatabase(async (storage) => {
      const before = (await storage.job(id))?.status;
      const outcome = await storage[kind](id);
      this.#record.count(`operator: ${kind} ${outcome}`);
      if (kind === 'retry' && outcome === 'done' && (before === 'buried' || before === 'cancelled'))
        this.#record.retried(id);
    });
  }

  // ── and how it ends ───────────────────────────────────────────────────────────────────────────────────────────
  async #heal(): Promise<void> {
    // What was set to end by itself has ended by then.
    await this.#time.pause(30_000);
    this.#network.isFaulty = false;
    this.#network.isDown = false;
    for (const queue of queues) await this.#asDatabase((storage) => storage.setPaused(queue, false));
    for (let place = 0; place < workerCount; place += 1) {
      const node = this.#workers[place];
      if (node === null || node === undefined) this.#spawn(place);
      else {
        node.isCutOff = false;
        node.isFrozen = false;
        await this.#order(node.worker.id, 'active');
      }
    }
    this.#record.say('healed');
  }

  async #untilAllEnded(): Promise<void> {
    for (let waitedMs = 0; waitedMs < 15 * 60_000; waitedMs += 1_000) {
      const stats = await this.#asDatabase((storage) => storage.stats());
      if (stats.every(({ pending, blocked, processing }) => pending + blocked + processing === 0)) return;
      await this.#time.pause(1_000);
    }
  }
}

function blankNode(name: string): SimNode {
  return { name, isDead: false, isFrozen: false, clockOffsetMs: 0 };
}

async function orderWorker(
  storage: Storage,
  id: string,
  order: 'drain' | 'standby' | 'active' | 'recycle',
): Promise<void> {
  const known = (await storage.workers()).some((worker) => worker.id === id);
  if (!known) return;
  const change: WorkerChange =
    order === 'recycle' ? { kind: 'recycle' } : { kind: 'admin-state', adminState: order };
  await storage.changeWorker(id, change, {
    id: newJobId(),
    actor: 'simulation',
    action: `worker.${order}`,
    target: id,
    source: 'simulation',
  });
}
