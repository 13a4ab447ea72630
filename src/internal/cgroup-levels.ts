/**
 * Where the kernel keeps the limits of this process: the folders of its control group, from its own up to the highest one
 * that can be seen. A limit holds on every level, so a reader takes the smallest of all.
 *
 * Version 2 has one tree for all controllers, version 1 one for each; a machine may have both, with some controllers in
 * one and some in the other. In a container the path in /proc/self/cgroup may be that of the host, while only a part of
 * the tree is mounted: the mount says which part.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads a file whole; throws as `readFileSync` does. Paths are absolute. */
export type ReadText = (path: string) => string;

export interface CgroupLevels {
  readonly version: 1 | 2;
  /** Absolute, from the group of this process upward. */
  readonly folders: readonly string[];
}

/** Reads the files of this machine, or of a copy of them below `root`. */
export const readTextBelow =
  (root: string): ReadText =>
  (path) =>
    readFileSync(join(root, path), 'utf8');

/**
 * The levels of one controller of version 1 (`cpu`, `cpuset`, `memory`) and those of version 2, where there are any.
 * Files that can't be read count as none: not every system has them.
 */
export function cgroupLevels(read: ReadText, controller: string): CgroupLevels[] {
  const groups = parseGroups(attempt(read, '/proc/self/cgroup'));
  const mounts = parseMounts(attempt(read, '/proc/self/mountinfo'));
  const found: CgroupLevels[] = [];
  for (const version of [2, 1] as const) {
    const group = groups.find((line) =>
      version === 2 ? line.controllers.length === 0 : line.controllers.includes(controller),
    );
    const mount = mounts.find((line) =>
      version === 2 ? line.type === 'cgroup2' : line.type === 'cgroup' && line.options.includes(controller),
    );
    if (group !== undefined && mount !== undefined)
      found.push({ version, folders: foldersUpward(group.path, mount) });
  }
  return found;
}

interface Group {
  readonly controllers: readonly string[];
  readonly path: string;
}

interface Mount {
  /** The part of the tree that is mounted. */
  readonly root: string;
  readonly at: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** Lines such as `4:cpu,cpuacct:/docker/abc`, and `0::/user.slice` for version 2. */
function parseGroups(text: string): Group[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (match === null) return [];
    const [, controllers = '', path = '/'] = match;
    return [{ controllers: controllers === '' ? [] : controllers.split(','), path }];
  });
}

/** `31 23 0:28 <root> <at> <options> [fields] - <type> <source> <options of the file system>` */
function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, at] = before.split(' ');
    const [type = '', , options = ''] = after.split(' ');
    if (root === undefined || at === undefined || !type.startsWith('cgroup')) return [];
    return [{ root: unescaped(root), at: unescaped(at), type, options: options.split(',') }];
  });
}

/** Blanks and the like stand as `\040`. */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

function foldersUpward(path: string, { root, at }: Mount): string[] {
  const isBelow = root !== '/' && (path === root || path.startsWith(`${root}/`));
  // A path that begins with `..` lies outside of what this namespace may see.
  const parts = (isBelow ? path.slice(root.length) : path).split('/').filter((part) => part !== '');
  const seen = parts.includes('..') || (root !== '/' && !isBelow) ? [] : parts;
  return Array.from({ length: seen.length + 1 }, (_, cut) => join(at, ...seen.slice(0, seen.length - cut)));
}

function attempt(read: ReadText, path: string): string {
  try {
    return read(path);
  } catch {
    // Not on this system, or not for this user: as good as empty.
    return '';
  }
}
