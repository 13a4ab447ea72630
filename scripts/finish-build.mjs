/*
 * What `tsc` leaves to do: put the SQL of migrations into the modules that read it from their folder (a bundled
 * application has no folder beside it), drop output whose source is gone, make the command executable.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');
const output = join(root, 'dist');
const command = join(output, 'cli/main.js');
const MIGRATION_TEXTS = /migrations[\\/]texts\.ts$/;
const COMPILED = /(\.d\.ts|\.js)$/;
/** An earlier revision built these. */
const FORMERLY_BUILT = /\.(sql|map)$/;

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** A module that has what its source would read from the folder it stands in. */
function embedMigrations(module) {
  const folder = dirname(join(source, module));
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const texts = Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
  const code = `export const migrationTexts = () => (${JSON.stringify(texts, null, 2)});\n`;
  const built = join(output, module.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(built), { recursive: true });
  if (!existsSync(built) || readFileSync(built, 'utf8') !== code) writeFileSync(built, code);
}

for (const file of filesUnder(source).filter((name) => MIGRATION_TEXTS.test(name))) embedMigrations(file);

// Incremental builds keep the output of deleted files, which a package would then ship.
for (const file of filesUnder(output)) {
  const isStale = COMPILED.test(file) && !existsSync(join(source, file.replace(COMPILED, '.ts')));
  if (isStale || FORMERLY_BUILT.test(file)) rmSync(join(output, file));
}

if (existsSync(command)) chmodSync(command, 0o755);
