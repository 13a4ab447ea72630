/*
 * Imports under src/ go one way: a folder may use itself and the folders before it in LAYERS. Only
 * storage/<db> may use the driver of its database, and core holds pure rules, so it may use no I/O, clock or
 * chance. Tests beside the source may import what they like.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const LAYERS = [
  'internal',
  'core',
  'protocol',
  'storage',
  'client',
  'workflow',
  'maintenance',
  'worker',
  'browser',
  'hub',
  'testing',
  'cli',
];
/** The public facade hands out workers, so the one file of `client` that may look ahead. */
const EXCEPTIONS = new Map([['client/millrace.ts', ['maintenance', 'worker', 'browser']]]);
const DRIVERS = new Map([
  ['better-sqlite3', 'storage/sqlite/'],
  ['pg', 'storage/postgres/'],
  ['mysql2', 'storage/mysql/'],
]);
const PURE_NODE_MODULES = ['node:assert', 'node:buffer', 'node:crypto', 'node:util'];
const IMPURE = [
  /\bDate\.now\b/,
  /\bnew Date\(\s*\)/,
  /\bperformance\.now\b/,
  /\bset(?:Timeout|Interval|Immediate)\b/,
  /\bMath\.random\b/,
  /\brandom(?:UUID|Bytes|Int)\b/,
  /\bprocess\.\w+/,
];
const IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])([^'"\n]+)\1/g;

/** Blanks comments, keeping every line where it was. */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, (comment) => comment.replace(/[^\n]/g, ' '));
}

function importBreach(file, specifier) {
  const [layer] = file.split('/');
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    const [targetLayer] = target.split('/');
    if (target.startsWith('..') || !file.includes('/') || EXCEPTIONS.get(file)?.includes(targetLayer)) return;
    if (!target.includes('/')) return `${layer} must not import ${target}, which is above every layer`;
    if (LAYERS.indexOf(targetLayer) > LAYERS.indexOf(layer)) return `${layer} must not import ${targetLayer}`;
    return;
  }
  const packageName = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const home = DRIVERS.get(packageName);
  if (home && !file.startsWith(home)) return `only src/${home} may import ${packageName}`;
  if (layer === 'core' && specifier.startsWith('node:') && !PURE_NODE_MODULES.includes(specifier)) {
    return `core is pure and must not import ${specifier}`;
  }
}

function breachesOf(file, text) {
  const found = [];
  const lineAt = (index) => text.slice(0, index).split('\n').length;
  const add = (index, problem) => problem && found.push(`src/${file}:${lineAt(index)}: ${problem}`);
  const [layer] = file.split('/');
  if (file.includes('/') && !LAYERS.includes(layer)) add(0, `${layer} is no known layer: add it to LAYERS`);
  for (const match of text.matchAll(IMPORT)) add(match.index, importBreach(file, match[2]));
  if (layer !== 'core') return found;
  for (const pattern of IMPURE) {
    const match = pattern.exec(text);
    if (match) add(match.index, `core is pure and must not use ${match[0]}: let the caller pass it in`);
  }
  return found;
}

const root = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..');
const source = join(root, 'src');
const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name) && !/\.test\.ts$/.test(entry.name))
  .map((entry) => relative(source, join(entry.parentPath, entry.name)).split(sep).join('/'))
  .sort();
const breaches = files.flatMap((file) =>
  breachesOf(file, withoutComments(readFileSync(join(source, file), 'utf8'))),
);

for (const breach of breaches) process.stderr.write(`${breach}\n`);
process.stdout.write(`Layers: ${files.length} files checked, ${breaches.length} breaches\n`);
if (breaches.length > 0) process.exitCode = 1;
