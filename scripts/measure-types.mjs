/*
 * How long the compiler takes for 100 types of jobs: each defined, dispatched by its definition and by its name, its
 * handler and its result used. Compared, in turns, with an empty project of the same options, and printed with the
 * compiler's own counts. Reads the built package.
 *
 * Fails when the jobs cost more than 1.5 s over the empty project. On a machine that is slow or busy that would say
 * nothing: there the limit is so many times the empty project, measured in the same run. What no load disturbs is the
 * count of instantiations, and it has a limit of its own.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const JOBS = 100;
const ROUNDS = 3;
const LIMIT_MS = 1500;
/** An empty project takes some 0.2 s where nothing else runs. */
const LIMIT_IN_EMPTY_PROJECTS = 8;
/** 667,000 when this was written; it grows with the square of the jobs, each name being looked up among all. */
const LIMIT_INSTANTIATIONS = 1_000_000;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const compilerOptions = {
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  noEmit: true,
};

/** Every kind of definition there is: types of its own, a schema for the input, schemas for both. */
function definition(index) {
  const name = `'job-${index}'`;
  switch (index % 3) {
    case 0:
      return `defineJob(${name}, {
  queue: 'a', attempts: ${(index % 9) + 1}, backoff: { type: 'linear', base: '1s' },
  async run({ input, log }: JobContext<{ id${index}: string; at: Date; lines: { sku: string; count: number }[] }>) {
    log.info(input.id${index});
    return { done: input.lines.length, at: input.at, id: input.id${index} };
  },
});`;
    case 1:
      return `defineJob(${name}, {
  input: z.object({ id${index}: z.string(), count: z.coerce.number(), kind: z.enum(['x', 'y']).default('x') }),
  unique: { key: (input) => input.id${index} },
  async run({ input, attempt }) {
    if (attempt > 1) return snooze('1m');
    return { total: input.count + 1, kind: input.kind };
  },
});`;
    default:
      return `defineJob(${name}, {
  input: z.object({ id${index}: z.string(), tags: z.array(z.string()).optional() }),
  output: z.object({ size: z.number(), at: z.date() }),
  run: ({ input }) => ({ size: input.tags?.length ?? 0, at: new Date() }),
});`;
  }
}

const inputs = [
  (index) => `{ id${index}: 'a', at: new Date(), lines: [{ sku: 'x', count: 1 }] }`,
  (index) => `{ id${index}: 'a', count: 1 }`,
  (index) => `{ id${index}: 'a', tags: ['x'] }`,
];
const results = [
  '{ done: number; at: string; id: string }',
  "{ total: number; kind: 'x' | 'y' }",
  '{ size: number; at: string }',
];

function application() {
  const indexes = Array.from({ length: JOBS }, (_, index) => index);
  const uses = indexes.map((index) => {
    const input = inputs[index % 3](index);
    return `  const a${index}: ${results[index % 3]} = await (await millrace.dispatch(job${index}, ${input})).result();
  const b${index}: ${results[index % 3]} = await (await millrace.dispatch('job-${index}', ${input}, { delay: '1s' })).result();
  used.push(a${index}, b${index});`;
  });
  return `import { defineJob, Millrace, snooze, type JobContext } from 'millrace';
import { z } from 'zod';
${indexes.map((index) => `const job${index} = ${definition(index)}`).join('\n')}
const millrace = new Millrace({ jobs: [${indexes.map((index) => `job${index}`).join(', ')}] });
export async function main(): Promise<unknown[]> {
  const used: unknown[] = [];
${uses.join('\n')}
  return used;
}
`;
}

const projects = {
  empty: 'export {};\n',
  /** What a schema library costs by itself is not ours. */
  imports:
    "import * as millrace from 'millrace';\nimport { z } from 'zod';\nexport const used = [millrace, z];\n",
  jobs: application(),
};

function compile(folder) {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const startedAt = performance.now();
  const run = spawnSync(process.execPath, [tsc, '-p', folder, '--extendedDiagnostics', '--pretty', 'false'], {
    encoding: 'utf8',
  });
  const ms = performance.now() - startedAt;
  if (run.status !== 0)
    throw new Error(`${folder} does not compile:\n${run.stdout.slice(0, 4000)}${run.stderr}`);
  const count = (label) => Number(new RegExp(`^${label}:\\s+(\\d+)`, 'm').exec(run.stdout)?.[1]);
  return { ms, types: count('Types'), instantiations: count('Instantiations') };
}

if (!existsSync(join(root, 'dist/index.d.ts'))) throw new Error('run "npm run build" first');
// Inside the repository, so that 'millrace' is this very package.
mkdirSync(join(root, '.millrace'), { recursive: true });
const folder = mkdtempSync(join(root, '.millrace', 'measure-types-'));
const best = {};
try {
  for (const [name, text] of Object.entries(projects)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'index.ts'), text);
    writeFileSync(join(folder, name, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of Object.keys(projects)) {
      const measured = compile(join(folder, name));
      if (best[name] === undefined || measured.ms < best[name].ms) best[name] = measured;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const overMs = best.jobs.ms - best.empty.ms;
const limitMs = Math.max(LIMIT_MS, LIMIT_IN_EMPTY_PROJECTS * best.empty.ms);
for (const [name, { ms, types, instantiations }] of Object.entries(best)) {
  process.stdout.write(
    `${name.padEnd(8)} ${Math.round(ms)} ms, ${types} types, ${instantiations} instantiations\n`,
  );
}
process.stdout.write(
  `Types: ${JOBS} jobs cost ${Math.round(overMs)} ms over an empty project (best of ${ROUNDS}), ${(overMs / best.empty.ms).toFixed(1)} times that; at most ${Math.round(limitMs)} ms\n`,
);
if (overMs > limitMs) {
  process.stderr.write('the types of jobs have become too slow\n');
  process.exitCode = 1;
}
if (best.jobs.instantiations > LIMIT_INSTANTIATIONS) {
  process.stderr.write(`expected at most ${LIMIT_INSTANTIATIONS} instantiations\n`);
  process.exitCode = 1;
}
