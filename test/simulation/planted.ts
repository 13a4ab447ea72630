/** Faults that the simulation must find: each wraps the storage of a world so that one of its promises is broken now and then. */
import type { ClaimRequest } from '../../src/storage/claimed-job.js';
import type { NewJob } from '../../src/storage/new-job.js';
import type { Settlement, SettleOutcome } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import type { Random } from '../model/random.js';

export type Plant = (storage: Storage, random: Random) => Storage;

type Methods = { [Name in keyof Storage]?: (...args: never[]) => unknown };

/** The same storage, but for some methods. */
function withMethods(storage: Storage, methods: Methods): Storage {
  return new Proxy(storage, {
    get(target, key) {
      const own = methods[key as keyof Storage];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Storage keeps no limit, and so holds none; the jobs that are given out say what they were dispatched with. */
const ignoresLimits: Plant = (storage) => {
  const limits = new Map<string, NewJob['limit']>();
  const enqueue = (jobs: readonly NewJob[]) => {
    for (const { id, limit } of jobs) limits.set(id, limit);
    return storage.enqueue(jobs.map((job) => ({ ...job, limit: null })));
  };
  const withLimits = async (claimed: ReturnType<Storage['claim']>) =>
    (await claimed).map((job) => ({ ...job, limit: limits.get(job.id) ?? null }));
  return withMethods(storage, {
    enqueue,
    claim: (request: ClaimRequest) => withLimits(storage.claim(request)),
    exchange: async (settlements: readonly Settlement[], request: ClaimRequest) => ({
      settled: await storage.settle(settlements),
      claimed: await withLimits(storage.claim(request)),
    }),
  });
};

/** A settlement counts for whoever holds the job now. */
const settlesWithoutGuard: Plant = (storage) => {
  const tokens = new Map<string, string>();
  const claim = async (request: ClaimRequest) => {
    const jobs = await storage.claim(request);
    for (const { id, token } of jobs) tokens.set(id, token);
    return jobs;
  };
  const settle = (settlements: readonly Settlement[]) =>
    storage.settle(settlements.map((each) => ({ ...each, token: tokens.get(each.id) ?? each.token })));
  return withMethods(storage, {
    claim,
    settle,
    exchange: async (settlements: readonly Settlement[], request: ClaimRequest) => ({
      settled: await settle(settlements),
      claimed: await claim(request),
    }),
  });
};

/** Leases that have not ended are shown as if they had. */
const rescuesWithoutEvidence: Plant = (storage, random) =>
  withMethods(storage, {
    expired: async (request: Parameters<Storage['expired']>[0]) =>
      await storage.expired(random.chance(0.2) ? { ...request, expiredForMs: -6_000 } : request),
  });

/** A settlement is answered as done now and then, and was not done. */
const losesResults: Plant = (storage, random) => {
  const settle = async (settlements: readonly Settlement[]): Promise<SettleOutcome[]> => {
    const lost = settlements.map(() => random.chance(0.02));
    const outcomes = await storage.settle(settlements.filter((_, index) => lost[index] !== true));
    return lost.map((isLost) => (isLost ? 'done' : (outcomes.shift() as SettleOutcome)));
  };
  return withMethods(storage, {
    settle,
    exchange: async (settlements: readonly Settlement[], request: ClaimRequest) => ({
      settled: await settle(settlements),
      claimed: await storage.claim(request),
    }),
  });
};

/** What was put back is charged. */
const chargesPutBacks: Plant = (storage) => {
  const charged = (settlements: readonly Settlement[]): Settlement[] =>
    settlements.map((each) => {
      if (each.kind !== 'put-back') return each;
      const { id, token, delayMs } = each;
      return { id, token, kind: 'retry', delayMs, errors: '[]' };
    });
  return withMethods(storage, {
    settle: (settlements: readonly Settlement[]) => storage.settle(charged(settlements)),
    exchange: (settlements: readonly Settlement[], request: ClaimRequest) =>
      storage.exchange(charged(settlements), request),
  });
};

export const plants: Readonly<Record<string, { readonly plant: Plant; readonly finds: RegExp }>> = {
  'limits are ignored': { plant: ignoresLimits, finds: /of group narrow\/ run, its limit is 2/ },
  'settlements are not guarded by their token': {
    plant: settlesWithoutGuard,
    finds: /a late settlement of job .* was accepted/,
  },
  'leases are taken back without evidence': {
    plant: rescuesWithoutEvidence,
    finds: /whose lease had \d+ ms left/,
  },
  'results are lost': {
    plant: losesResults,
    finds: /second completion|second start|overlapping|attempts|still/,
  },
  'put-backs are charged': { plant: chargesPutBacks, finds: /counts \d+ attempts, \d+ were charged/ },
};
