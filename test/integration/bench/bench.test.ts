import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { serverAvailable } from '../../support/servers.js';

interface Row {
  readonly engine?: string;
  readonly work: string;
  readonly jobs?: number;
  readonly problems?: readonly string[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const works = [
  'raw',
  'one-by-one',
  'in-flight',
  'bulk',
  'drain',
  'latency',
  'lanes',
  'limits',
  'start',
  'idle',
  'hub-pair',
  'hub',
  'hub-latency',
  'hub-idle',
  'backlog-pair',
  'backlog',
  'million',
  'kept-pair',
  'kept',
];

async function runBench(...options: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ['bench/run.mjs', ...options], { cwd: root });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}

describe('the benchmark', () => {
  beforeAll(() => {
    if (!existsSync(`${root}/dist/index.js`))
      throw new Error('the benchmark measures dist/: run npm run build');
  });

  const engines = [
    { engine: 'sqlite-normal', tag: 'sqlite', available: true },
    { engine: 'postgres', tag: 'postgres', available: serverAvailable('postgres') },
    { engine: 'mysql', tag: 'mysql', available: serverAvailable('mysql') },
  ];
  for (const { engine, tag, available } of engines) {
    it.skipIf(!available)(
      `measures everything on [${tag}] and counts every completion`,
      { timeout: 180_000 },
      async () => {
        const { code, out, err } = await runBench('--quick', '--json', '--engine', engine);
        const rows = out
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Row);
        expect(rows.flatMap(({ problems }) => problems ?? [])).toEqual([]);
        expect(new Set(rows.filter((row) => row.engine === engine).map(({ work }) => work))).toEqual(
          new Set(works),
        );
        expect(rows.filter(({ work }) => work === 'drain').map(({ jobs }) => jobs)).toEqual([
          500, 500, 500, 500,
        ]);
        expect({ code, err }).toEqual({ code: 0, err: '' });
      },
    );
  }

  it('prints its report, and says of a quick run what it is', { timeout: 180_000 }, async () => {
    const options = ['--quick', '--engine', 'sqlite-full', '--work', 'drain'];
    const { code, out } = await runBench(...options);
    expect(code).toBe(0);
    expect(out).toContain('says nothing of speed');
    expect(out).toContain('None was missing, none handled twice, none left over.');
  });

  it('prints a line and a table of workers that run, start and rest', { timeout: 180_000 }, async () => {
    const { code, out, err } = await runBench(
      ...['--quick', '--engine', 'sqlite-normal', '--work', 'lanes,start,idle'],
    );
    expect(err).not.toContain('FAILED');
    expect(code).toBe(0);
    for (const line of [/lanes .*p50 .*p95/, /start .*supervised .*p50/, /idle .*calls\/s/]) {
      expect(err).toMatch(line);
    }
    for (const title of ['## Process lanes', '## Start to first job', '## Idle workers']) {
      expect(out).toContain(title);
    }
  });

  it('refuses what it does not know, with its usage', async () => {
    const { code, err } = await runBench('--engine', 'oracle');
    expect(code).toBe(2);
    expect(err).toContain('expected some of sqlite-full, sqlite-normal, postgres, mysql, got oracle');
    expect(err).toContain('Usage:');
  });
});
