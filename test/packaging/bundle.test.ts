import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Format } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp.js';
import { installInto, link, pack, runNode } from './packed.js';

const folder = tempDir('bundle');
const source = folder.file('source');

const main = `
import { createLineLogger, defineJob, Millrace, type JobContext } from 'millrace';

const greet = defineJob('greet', { run: ({ input }: JobContext<{ name: string }>) => \`Hello \${input.name}\` });

async function main(): Promise<void> {
  const warnings: string[] = [];
  const logger = createLineLogger({ write: (line) => warnings.push(line), level: 'warn' });
  const millrace = new Millrace({ database: 'sqlite:app.db', jobs: [greet], logger });
  const worker = millrace.worker();
  await worker.start();
  const handle = await millrace.dispatch(greet, { name: 'Ada' });
  const result = await handle.result({ timeout: '20s' });
  await millrace.close();
  process.stdout.write(JSON.stringify({ result, warnings }));
}

void main();
`;

beforeAll(async () => {
  await installInto(source, await pack(folder.path));
  await writeFile(join(source, 'main.ts'), main);
}, 180_000);
afterAll(() => folder[Symbol.asyncDispose]());

async function bundle(format: Format): Promise<string> {
  const target = folder.file(`bundled-${format}`);
  await mkdir(target, { recursive: true });
  const { warnings } = await build({
    entryPoints: [join(source, 'main.ts')],
    outfile: join(target, format === 'cjs' ? 'main.cjs' : 'main.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format,
    // The drivers that are not installed need no word: they are loaded when an address asks for them.
    external: ['better-sqlite3'],
    logLevel: 'silent',
    // In a CommonJS bundle there is no import.meta; that it does no harm is tested here.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  expect(warnings.map(({ text }) => text)).toEqual([]);
  await link(target, ['better-sqlite3']);
  return target;
}

describe('an application that is bundled into one file', () => {
  test.each(['esm', 'cjs'] as const)(
    'dispatches and works on SQLite with nothing of the package beside it [%s]',
    { timeout: 60_000 },
    async (format) => {
      const target = await bundle(format);
      const [file = ''] = (await readdir(target)).filter((name) => name.startsWith('main'));
      const { stdout, stderr } = await runNode([file], target);
      expect(stderr).toBe('');
      const { result, warnings } = JSON.parse(stdout) as { result: string; warnings: string[] };
      expect(result).toBe('Hello Ada');
      // Its one thread is not there, and whoever runs this should know.
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/the link runs on the main loop/);
    },
  );
});
