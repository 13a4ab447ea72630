import { spawn } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
// @ts-expect-error the benchmark is plain JavaScript
import { installPeers } from '../../../bench/peers/install.mjs';
import { tempDir } from '../../support/temp.js';

interface Row {
  readonly run?: string;
  readonly queue?: string;
  readonly work: string;
  readonly problems?: readonly string[];
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

async function runBench(...options: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ['bench/run.mjs', '--peers', ...options], { cwd: root });
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

describe('the benchmark beside other queues', () => {
  beforeAll(() => {
    if (!existsSync(`${root}/dist/index.js`))
      throw new Error('the benchmark measures dist/: run npm run build');
  });

  it('takes ours through the operations of all, without installing anything for it', {
    timeout: 180_000,
  }, async () => {
    const options = ['--quick', '--json', '--queue', 'none', '--engine', 'sqlite-normal'];
    const { code, out, err } = await runBench(...options);
    const rows = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
    expect(rows.flatMap(({ problems }) => problems ?? [])).toEqual([]);
    expect(new Set(rows.map(({ run }) => run))).toEqual(new Set(['peers']));
    const works = rows.filter(({ queue }) => queue === 'millrace-sqlite-normal').map(({ work }) => work);
    expect(works).toEqual([
      'queue',
      'one-by-one',
      'in-flight',
      'bulk',
      ...['drain', 'drain', 'drain', 'drain'],
      ...['latency', 'latency'],
      'backlog',
    ]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('refuses what it does not know, and a queue without --peers', async () => {
    const unknown = await runBench('--queue', 'abacus');
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('--queue: expected some of graphile-worker-batch');
    const raw = await runBench('--work', 'raw');
    expect(raw.code).toBe(2);
    expect(raw.err).toContain('--work: expected some of dispatch, drain, latency, backlog, got raw');
  });

  it('says what it needs where no registry can be reached', { timeout: 120_000 }, async () => {
    await using folder = tempDir('peers');
    for (const name of ['package.json', 'package-lock.json']) {
      copyFileSync(`${root}/bench/peers/${name}`, folder.file(name));
    }
    const env = {
      ...process.env,
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_fetch_retries: '0',
      npm_config_cache: folder.file('cache'),
    };
    await expect(installPeers(() => undefined, { folder: `${folder.path}/`, env })).rejects.toThrow(
      /could not be installed: "npm ci .*It needs a package registry that can be reached; without --peers the benchmark needs none\. npm said: /,
    );
  });
});
