import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const SBIN = ['/usr/local/sbin', '/usr/sbin', '/usr/local/bin', '/usr/bin'];

/** Finds a program on the PATH, or in the folders that an ordinary user's PATH lacks. */
export function findProgram(name: string, extraFolders: readonly string[] = []): string | undefined {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return [...extraFolders, ...onPath, ...SBIN]
    .map((folder) => join(folder, name))
    .find((candidate) => existsSync(candidate));
}

/** Debian keeps one folder per PostgreSQL version; the newest comes first. */
export function debianPostgresFolders(root = '/usr/lib/postgresql'): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(root, version, 'bin'));
}

export interface Identity {
  uid: number;
  gid: number;
}

/** Servers refuse to run as root, so root lends them the first of these accounts that exists. */
export function unprivilegedIdentity(...names: string[]): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of [...names, 'nobody']) {
    const account = accounts.find((fields) => fields[0] === name);
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) };
  }
  return undefined;
}
