import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));
const deadlineMs = 300_000;

/**
 * Installs the other queues where that isn't done yet, by the lock file, without running a script of theirs. SQLite's
 * driver, which would have to be compiled, is taken from the repository's own node_modules instead.
 *
 * @throws Error with one sentence where they can't be had
 */
export async function installPeers(
  tell,
  { folder = here, env = process.env, what = 'the other queues', where = 'bench/peers' } = {},
) {
  const lock = readFileSync(`${folder}package-lock.json`, 'utf8');
  const installedFile = `${folder}node_modules/.installed-lock.json`;
  if (existsSync(installedFile) && readFileSync(installedFile, 'utf8') === lock) return;
  tell(`installing ${what} into ${where}/node_modules`);
  const options = [
    'ci',
    '--legacy-peer-deps',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  try {
    await promisify(execFile)('npm', options, { cwd: folder, env, timeout: deadlineMs });
  } catch (error) {
    throw new Error(
      `${what} could not be installed: "npm ${options.join(' ')}" in ${where} failed. It needs a package registry that can be reached; without ${where === 'bench/peers' ? '--peers' : '--browser'} the benchmark needs none. npm said: ${lastLines(error)}`,
    );
  }
  rmSync(`${folder}node_modules/better-sqlite3`, { recursive: true, force: true });
  writeFileSync(installedFile, lock);
}

function lastLines({ stderr, killed, message }) {
  if (killed) return `nothing within ${deadlineMs / 1_000} s`;
  const lines = (stderr || message).trim().split('\n');
  return lines
    .filter((line) => !line.includes('complete log'))
    .slice(0, 4)
    .join(' ');
}

/** The installed version of a package. */
export function versionOf(name) {
  const { version } = JSON.parse(readFileSync(`${here}node_modules/${name}/package.json`, 'utf8'));
  return version;
}
