import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';

export function describeMachine() {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    machine: `${availableParallelism()} × ${model}, ${memory} GiB, ${systemName()}, ${type()} ${release()} ${arch()}`,
    node: process.version,
    drivers: ['better-sqlite3', 'pg', 'mysql2'].map((name) => `${name} ${versionOf(name)}`).join(', '),
    millrace: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version,
    date: new Date().toISOString().slice(0, 10),
  };
}

function systemName() {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  } catch {
    return process.platform;
  }
}

function versionOf(name) {
  try {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
    return JSON.parse(readFileSync(file, 'utf8')).version;
  } catch {
    return 'not installed';
  }
}
