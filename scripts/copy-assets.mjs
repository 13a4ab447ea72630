/* What `tsc` leaves to do: copy SQL files, drop output whose source is gone, make the command executable. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'src');
const output = join(root, 'dist');
const command = join(output, 'cli/main.js');
const COMPILED = /(\.d\.ts|\.js)(\.map)?$/;

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

for (const file of filesUnder(source).filter((name) => name.endsWith('.sql'))) {
  const from = join(source, file);
  const to = join(output, file);
  if (existsSync(to) && statSync(to).mtimeMs >= statSync(from).mtimeMs) continue;
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

// Incremental builds keep the output of deleted files, which a package would then ship.
for (const file of filesUnder(output)) {
  const origin = file.endsWith('.sql') ? file : file.replace(COMPILED, '.ts');
  const isBuilt = file.endsWith('.sql') || COMPILED.test(file);
  if (isBuilt && !existsSync(join(source, origin))) rmSync(join(output, file));
}

if (existsSync(command)) chmodSync(command, 0o755);
