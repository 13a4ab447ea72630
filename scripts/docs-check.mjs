/*
 * Type-checks the TypeScript blocks of README.md and every page under docs/ against the built package. A
 * block fenced as `ts` is a module of its own; `ts file=jobs.ts` gives it the name under which other blocks
 * of the page import it; `ts no-check` leaves it out.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const FENCE = /^([ \t]*)```(?:ts|typescript)\b([^\n]*)\n([\s\S]*?)^\1```[ \t]*$/gm;
const COMPILER_OPTIONS = {
  target: 'ES2023',
  lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  moduleDetection: 'force',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
};

const root = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..');

function pages() {
  const docs = join(root, 'docs');
  const found = existsSync(docs)
    ? readdirSync(docs, { recursive: true }).map((name) => join('docs', name))
    : [];
  return ['README.md', ...found.sort()].filter(
    (page) => page.endsWith('.md') && existsSync(join(root, page)),
  );
}

/** Each block is padded to the line it has in its page, so that an error's line needs no translation. */
function blocksOf(page) {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(FENCE)].map((match, index) => {
    const [, indent, info, body] = match;
    const firstLine = text.slice(0, match.index).split('\n').length + 1;
    const name = /\bfile=(\S+)/.exec(info)?.[1] ?? `block-${index + 1}.ts`;
    const code = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return { page, name, isSkipped: info.includes('no-check'), code: '\n'.repeat(firstLine - 1) + code };
  });
}

function typeCheck(folder) {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['.'] }),
  );
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const run = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (run.status === 0) return true;
  for (const line of run.stdout.split('\n')) {
    // page/block-1.ts(12,3): error … → page:12:3: error …
    process.stderr.write(`${line.replace(/^(.+\.md)\/[^(]+\((\d+),(\d+)\)/, '$1:$2:$3')}\n`);
  }
  return false;
}

const blocks = pages().flatMap(blocksOf);
const checked = blocks.filter((block) => !block.isSkipped);
let isSound = true;
if (checked.length > 0) {
  if (!existsSync(join(root, 'dist')))
    throw new Error('docs:check reads the built package: run "npm run build" first');
  // Inside the repository, so that `import … from 'millrace'` finds this very package.
  mkdirSync(join(root, '.millrace'), { recursive: true });
  const folder = mkdtempSync(join(root, '.millrace', 'docs-check-'));
  try {
    for (const { page, name, code } of checked) {
      mkdirSync(join(folder, page), { recursive: true });
      writeFileSync(join(folder, page, basename(name)), code);
    }
    isSound = typeCheck(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
const skipped = blocks.length - checked.length;
const from = relative(process.cwd(), root) || 'README.md and docs';
process.stdout.write(
  `Docs: ${checked.length} TypeScript blocks of ${from} checked, ${skipped} marked no-check\n`,
);
if (!isSound) process.exitCode = 1;
