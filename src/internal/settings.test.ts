import { describe, expect, it } from 'vitest';
import { isMillraceError } from './errors.js';
import { heartbeatIntervalMs, resolveSettings, settingNames, settings } from './settings.js';

function problemsOf(inputs: Parameters<typeof resolveSettings>[0]): readonly string[] {
  try {
    resolveSettings(inputs);
  } catch (error) {
    if (isMillraceError(error) && error.code === 'settings-invalid') {
      return error.details['problems'] as readonly string[];
    }
    throw error;
  }
  return [];
}

describe('resolveSettings', () => {
  it('has the documented defaults', () => {
    const { values, sources, warnings } = resolveSettings({});
    expect(values).toEqual({
      database: 'sqlite:millrace.db',
      databaseTimeoutMs: 30_000,
      hubUrl: [],
      workerSecret: '',
      staleReapMs: 300_000,
      reapIntervalMs: 60_000,
      reconnectGiveupMs: 0,
      stateDir: '.millrace',
      recycleAfterJobs: 'auto',
      queue: { order: 'strict', queues: ['default'] },
      concurrency: 10,
      maxConcurrent: 'none',
      processLanes: 'auto',
      browserLanes: 0,
      chromePath: 'auto',
      browserPrivateTargets: 'none',
      workerCpuBudget: 'auto',
      workerLaneCores: 4,
      workerMaxMemory: 'auto',
      workerMaxLanes: 2,
      laneMaxMemoryBytes: 536_870_912,
      workers: 'none',
      minWorkers: 'none',
      maxWorkers: 'none',
      targetWaitMs: 0,
      workerPoolScaleIntervalMs: 5000,
      workerPoolIdleGraceMs: 15_000,
      labels: [],
      queueCostBudgets: {},
      groupCostBudgets: {},
      attempts: 3,
      retryBackoff: 'exponential',
      maxExecutionTimeMs: 300_000,
      killGraceMs: 5000,
      blockedTimeoutMs: 300_000,
      staleTimeoutMs: 45_000,
      heartbeatMs: 15_000,
      workerTtlMs: 120_000,
      workerSleepMs: 1000,
      stopTimeoutMs: 25_000,
      files: 'auto',
      maxFileBytes: 1_073_741_824,
      maxJobFilesBytes: 10_737_418_240,
      maxPayloadBytes: 1_048_576,
      resourceAdmission: 'on',
      resourceProfileWindowMinutes: 60,
      resourceProfileTtlMs: 30_000,
      resourceMemoryHeadroomMb: 16,
      resourceSystemMemoryAwareness: 'on',
      resourceSystemMemoryHeadroomMb: 32,
      resourceTimeHeadroomMs: 5_000,
      retentionDays: 7,
      logRetentionDays: 30,
      hubHost: '127.0.0.1',
      hubPort: 8000,
      hubAdvertiseUrl: null,
      hubAllowedHosts: [],
      hubRateLimit: 1000,
      hubMaxConnections: 1000,
      logLevel: 'info',
      logFormat: 'text',
    });
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    expect(warnings).toEqual([]);
    expect(Object.isFrozen(values)).toBe(true);
    expect(Object.isFrozen(values.queue)).toBe(true);
  });

  it('takes the flag before the environment, that before the config, that before the default', () => {
    const config = { concurrency: 1, attempts: 1, workerSleep: '2s' };
    const env = { MILLRACE_CONCURRENCY: '2', MILLRACE_ATTEMPTS: '2' };
    const { values, sources } = resolveSettings({ flags: { concurrency: '3' }, env, config });
    expect(values).toMatchObject({ concurrency: 3, attempts: 2, workerSleepMs: 2000, killGraceMs: 5000 });
    expect(sources).toMatchObject({
      concurrency: 'flag',
      attempts: 'environment',
      workerSleep: 'config',
      killGrace: 'default',
    });
  });

  it('takes undefined and an empty variable for not given', () => {
    const { sources } = resolveSettings({
      flags: { queue: undefined },
      env: { MILLRACE_QUEUE: '', MILLRACE_CONCURRENCY: undefined },
      config: { queue: undefined },
    });
    expect(sources.queue).toBe('default');
  });

  it('reads a bare number as seconds in a variable or flag and as milliseconds in the config', () => {
    expect(resolveSettings({ env: { WORKER_TTL: '90' } }).values.workerTtlMs).toBe(90_000);
    expect(resolveSettings({ flags: { killGrace: '2' } }).values.killGraceMs).toBe(2000);
    expect(resolveSettings({ config: { killGrace: 2000 } }).values.killGraceMs).toBe(2000);
    expect(resolveSettings({ env: { MILLRACE_KILL_GRACE: '250ms' } }).values.killGraceMs).toBe(250);
    expect(problemsOf({ config: { killGrace: '2' } })).toHaveLength(1);
  });

  it('reads numbers that a word may stand for', () => {
    const env = { WORKER_CPU_BUDGET: '1.5', MAX_CONCURRENT: ' 3 ', MILLRACE_PROCESS_LANES: 'AUTO' };
    expect(resolveSettings({ env }).values).toMatchObject({
      workerCpuBudget: 1.5,
      maxConcurrent: 3,
      processLanes: 'auto',
    });
    expect(resolveSettings({ config: { processLanes: 0, workerCpuBudget: 'auto' } }).values).toMatchObject({
      processLanes: 0,
      workerCpuBudget: 'auto',
    });
    expect(problemsOf({ env: { WORKER_CPU_BUDGET: 'all', MAX_CONCURRENT: '2.5' } })).toEqual([
      'MAX_CONCURRENT: expected none, or a whole number from 1 to 1000, got "2.5"',
      'WORKER_CPU_BUDGET: expected auto, or a number from 0.1 to 4096, got "all"',
    ]);
  });

  it('reads sizes, choices and lists', () => {
    const env = { MILLRACE_MAX_PAYLOAD: '512kb', MILLRACE_LOG_LEVEL: 'DEBUG', MILLRACE_QUEUE: 'a, b' };
    expect(resolveSettings({ env }).values).toMatchObject({
      maxPayloadBytes: 524_288,
      logLevel: 'debug',
      queue: { order: 'strict', queues: ['a', 'b'] },
    });
    expect(resolveSettings({ config: { queue: ['x:1', 'y:2'], maxPayload: 2048 } }).values).toMatchObject({
      queue: {
        order: 'shares',
        shares: [
          { queue: 'x', weight: 1 },
          { queue: 'y', weight: 2 },
        ],
      },
      maxPayloadBytes: 2048,
    });
  });

  it('lists every problem at once, each with its place, what was expected and what was got', () => {
    const problems = problemsOf({
      flags: { concurency: 3, queue: 'critical:6,default' },
      env: { MILLRACE_ATTEMPTS: 'many', MILLRACE_KILL_GRACE: '-1s', MILLRACE_LOG_LEVEL: 'loud' },
      config: { maxPayload: '2GB', logFormat: 5 },
    });
    expect(problems).toHaveLength(7);
    expect(problems).toContainEqual('flag concurency: there is no such setting; did you mean concurrency?');
    expect(problems).toContainEqual(expect.stringMatching(/^--queue: .*"critical" has a share/));
    expect(problems).toContainEqual('MILLRACE_ATTEMPTS: expected a whole number from 1 to 1000, got "many"');
    expect(problems).toContainEqual(
      expect.stringMatching(/^MILLRACE_KILL_GRACE: expected a duration .*, got "-1s"$/),
    );
    expect(problems).toContainEqual(expect.stringMatching(/^logFormat in the config: expected .*, got 5$/));
  });

  it('never repeats a database address, which may hold a password', () => {
    expect(problemsOf({ config: { database: ['postgres://a:hunter2@b'] } })).toEqual([
      'database in the config: expected sqlite:<file>, postgres://… or mysql://…',
    ]);
  });

  it('refuses a lease shorter than three heartbeats, and says what would do', () => {
    const problems = problemsOf({ env: { MILLRACE_STALE_TIMEOUT: '20s' } });
    expect(problems).toEqual([expect.stringMatching(/MILLRACE_STALE_TIMEOUT \(20s\).*Raise it to 45s/)]);
    const { values } = resolveSettings({ env: { MILLRACE_STALE_TIMEOUT: '20s', MILLRACE_HEARTBEAT: '5s' } });
    expect(values.staleTimeoutMs).toBe(20_000);
    expect(problemsOf({ env: { MILLRACE_STALE_TIMEOUT: '20s', WORKER_TTL: '20s' } })).toEqual([]);
  });

  it('says of a heartbeat that is capped what was given and by what', () => {
    const problems = problemsOf({ env: { MILLRACE_HEARTBEAT: '1h', MILLRACE_QUEUE: 'a,,b' } });
    expect(problems).toEqual([
      expect.stringMatching(/^MILLRACE_QUEUE: .*expected queue names/),
      expect.stringMatching(
        /three heartbeats of 30s \(MILLRACE_HEARTBEAT is 1h, but a worker beats at least every quarter of WORKER_TTL, 2m\)/,
      ),
    ]);
  });

  it('beats at least four times in WORKER_TTL', () => {
    expect(heartbeatIntervalMs({ heartbeatMs: 15_000, workerTtlMs: 120_000 })).toBe(15_000);
    expect(heartbeatIntervalMs({ heartbeatMs: 15_000, workerTtlMs: 20_000 })).toBe(5000);
  });

  it('warns of unknown variables with our prefix, but not of those of the tests', () => {
    const env = { MILLRACE_CONCURENCY: '3', MILLRACE_TEST_POSTGRES: 'x', MILLRACE_ZZZZZ: '1', PATH: '/bin' };
    expect(resolveSettings({ env }).warnings).toEqual([
      'MILLRACE_CONCURENCY is set, but there is no such setting; did you mean MILLRACE_CONCURRENCY?',
      expect.stringMatching(/^MILLRACE_ZZZZZ is set/),
    ]);
  });
});

describe('the registry', () => {
  it('has one variable per setting and a default that its own parser reads back', () => {
    const variables = settingNames.map((name) => settings[name].env);
    expect(new Set(variables).size).toBe(variables.length);
    for (const name of settingNames) {
      const setting = settings[name] as {
        default: unknown;
        format(value: unknown): string;
        parse: (raw: unknown, isText: boolean) => unknown;
      };
      expect(setting.parse(setting.format(setting.default), true), name).toEqual(setting.default);
      expect(setting.parse(setting.default, false), name).toEqual(setting.default);
    }
  });
});
