/*
 * Runs as `prepare`, at the end of `npm ci` in this repository: better-sqlite3 is an optional dependency, so
 * npm drops it without a word when it finds no prebuilt binary and cannot compile one. Tests and examples
 * need it, so here that is tried once more with Node's own headers, and else answered by one sentence.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';

const { optionalDependencies } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
const PACKAGE = `better-sqlite3@${optionalDependencies['better-sqlite3']}`;

function loads() {
  // In a process of its own: a binary built for another Node can end the process that loads it.
  const program = `new (require('better-sqlite3'))(':memory:').close()`;
  try {
    execFileSync(process.execPath, ['-e', program], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // missing, half built or built for another Node: all the same to the caller
  }
}

function lacking() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const has = (...names) => names.some((name) => folders.some((folder) => existsSync(join(folder, name))));
  const lacks = [];
  if (!has('python3', 'python')) lacks.push('python3');
  if (!has('make', 'gmake')) lacks.push('make');
  if (!has('g++', 'c++', 'clang++')) lacks.push('g++');
  return lacks;
}

/** Compiles with the headers that came with this Node, which node-gyp would otherwise download. */
function compileWithLocalHeaders() {
  const prefix = dirname(dirname(process.execPath));
  if (!existsSync(join(prefix, 'include/node/node.h'))) return;
  process.stdout.write('No prebuilt SQLite driver: compiling it, which takes a minute or two.\n');
  try {
    execFileSync('npm', ['install', '--no-save', '--no-package-lock', '--ignore-scripts', PACKAGE], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const folder = dirname(createRequire(import.meta.url).resolve('better-sqlite3/package.json'));
    execFileSync('npm', ['run', 'install'], {
      cwd: folder,
      env: { ...process.env, npm_config_nodedir: prefix },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  } catch (error) {
    process.stderr.write(`${String(error.stderr ?? error).slice(-2_000)}\n`);
  }
}

// `npm install --package-lock-only` runs `prepare` too, and installs nothing.
const isInstalling = process.env.npm_config_package_lock_only !== 'true';

if (isInstalling && !loads()) {
  const lacks = lacking();
  if (lacks.length === 0) compileWithLocalHeaders();
  if (!loads()) {
    process.stderr.write(
      lacks.length > 0
        ? `\nSQLite's driver could not be compiled: run "apt-get install -y ${lacks.join(' ')}", then "npm ci" again.\n\n`
        : `\nSQLite's driver could not be compiled: "npm install --foreground-scripts ${PACKAGE}" shows why.\n\n`,
    );
    process.exitCode = 1;
  }
}
