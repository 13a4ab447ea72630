#!/usr/bin/env node
/* npm run simulate: worlds of simulated workers, by seed. A seed that fails is told with what was violated; --trace shows its whole story. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const HELP = `npm run simulate -- [options]
  --seeds <n>  how many, 500 by default
  --from <n>   the first one, 1 by default
  --seed <n>   this one alone
  --trace      tell everything that happens`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '500' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}
const from = Number(values.seed ?? values.from);
const seeds = values.seed === undefined ? Number(values.seeds) : 1;

const bundle = new URL('../../node_modules/.cache/millrace-simulate.mjs', import.meta.url);
await build({
  entryPoints: [fileURLToPath(new URL('./simulate.ts', import.meta.url))],
  outfile: fileURLToPath(bundle),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'error',
});
const { mustOccur, simulate } = await import(bundle.href);
const startedAt = process.hrtime.bigint();
const say = (line) => process.stdout.write(`${line}\n`);
let done = 0;
const { failed, counts } = await simulate({
  from,
  seeds,
  ...(values.trace ? { trace: say } : {}),
  onWorld: ({ seed, violations }) => {
    done += 1;
    for (const violation of violations.slice(0, 5)) say(`seed ${seed}: ${violation}`);
    if (done % 50 === 0) say(`${done} of ${seeds} worlds`);
  },
});
for (const [what, count] of [...counts].sort(([a], [b]) => a.localeCompare(b)))
  say(`${String(count).padStart(9)}  ${what}`);
const never = seeds < 50 ? [] : mustOccur.filter((what) => (counts.get(what) ?? 0) === 0);
for (const what of never) say(`never occurred: ${what}`);
const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
say(`${seeds} worlds in ${seconds.toFixed(0)} s, ${failed.length} failed`);
for (const { seed } of failed) say(`  npm run simulate -- --seed ${seed} --trace`);
process.exitCode = failed.length + never.length === 0 ? 0 : 1;
