/**
 * One node's way to the one storage of the world: calls take time, fail before or after they are done, are cut off for a
 * while, and die with their node. What was committed is recorded, whether or not the node ever learns of it.
 */
import { MillraceError } from '../../src/internal/errors.js';
import type { ClaimedJob, ClaimRequest } from '../../src/storage/claimed-job.js';
import type { EnqueueOutcome, NewJob } from '../../src/storage/new-job.js';
import type { Settlement, SettleOutcome, TakeBack, TakeBackOutcome } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import type { Random } from '../model/random.js';
import type { Record } from './record.js';
import type { SimNode, SimTime } from './sim-time.js';

export interface SimNetwork {
  /** Calls go wrong by chance. */
  isFaulty: boolean;
  /** Nobody reaches the database. */
  isDown: boolean;
}

export interface LinkedNode extends SimNode {
  isCutOff: boolean;
}

export interface SimStorageOptions {
  readonly time: SimTime;
  readonly random: Random;
  readonly network: SimNetwork;
  readonly record: Record;
  readonly database: SimNode;
  readonly inner: Storage;
}

const usualMs = 5;
const slowMs = 3_000;
const plain = new Set(['open', 'close', 'capabilities', 'within', 'withinSync']);

export function storageOf(node: LinkedNode, options: SimStorageOptions): Storage {
  const { inner } = options;
  return new Proxy(inner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || plain.has(String(key))) {
        return typeof value === 'function' ? value.bind(target) : value;
      }
      if (key === 'watch') return (onWake: WakeListener) => watch(node, onWake, options);
      return (...args: unknown[]) => call(node, String(key), args, options);
    },
  });
}

type WakeListener = (queues: readonly string[] | null) => void;

const lost = (): Error => new MillraceError('connection-lost', 'the connection was cut');

async function call(
  node: LinkedNode,
  method: string,
  args: unknown[],
  { time, random, network, record, database, inner }: SimStorageOptions,
): Promise<unknown> {
  const isCut = (): boolean => node.isCutOff || network.isDown;
  const fault = network.isFaulty ? random.int(100) : 100;
  if (fault === 0) record.count('fault: slow');
  await time.pause(fault === 0 ? random.int(slowMs) : random.int(usualMs));
  if (isCut()) {
    record.count('fault: cut off');
    throw lost();
  }
  if (fault === 1 || fault === 2) {
    record.count('fault: fail before');
    throw lost();
  }
  const answer: unknown = await time.as(database, () =>
    Reflect.apply(Reflect.get(inner, method) as (...given: unknown[]) => unknown, inner, args),
  );
  note(node, record, { method, args, answer });
  await time.pause(random.int(usualMs));
  if (isCut() || fault === 3 || fault === 4) {
    record.count('fault: fail after commit');
    throw lost();
  }
  return answer;
}

function note(
  node: SimNode,
  record: Record,
  { method, args, answer }: { readonly method: string; readonly args: unknown[]; readonly answer: unknown },
): void {
  switch (method) {
    case 'enqueue': {
      const outcomes = answer as EnqueueOutcome[];
      const jobs = args[0] as readonly NewJob[];
      record.enqueued(jobs.flatMap(({ id }, index) => (outcomes[index]?.outcome === 'created' ? [id] : [])));
      break;
    }
    case 'claim':
      record.claimed(node, args[0] as ClaimRequest, answer as ClaimedJob[]);
      break;
    case 'settle':
      record.settled(node, args[0] as Settlement[], answer as SettleOutcome[]);
      break;
    case 'exchange': {
      const { settled, claimed } = answer as { settled: SettleOutcome[]; claimed: ClaimedJob[] };
      record.settled(node, args[0] as Settlement[], settled);
      record.claimed(node, args[1] as ClaimRequest, claimed);
      break;
    }
    case 'renew':
      record.renewed(args[0] as string, args[1] as number);
      break;
    case 'takeBack':
      record.takenBack(args[0] as TakeBack[], answer as TakeBackOutcome[]);
      break;
  }
}

/** Wake-ups come late, twice or not at all. */
async function watch(
  node: LinkedNode,
  onWake: WakeListener,
  { time, random, network, record, database, inner }: SimStorageOptions,
): Promise<AsyncDisposable> {
  return time.as(database, () =>
    inner.watch((queues) => {
      if (node.isDead) return;
      const fault = network.isFaulty ? random.int(10) : 10;
      if (node.isCutOff || fault === 0) {
        record.count('fault: wake-up lost');
        return;
      }
      if (fault === 1) record.count('fault: wake-up doubled');
      time.as(node, () => {
        for (let n = 0; n < (fault === 1 ? 2 : 1); n += 1) time.at(random.int(20), () => onWake(queues));
      });
    }),
  );
}
