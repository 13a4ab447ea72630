import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLogger as logger } from '../../../src/internal/logger.js';
import { OwnedFolder, sweepOwnedFolders } from '../../../src/internal/owned-folder.js';
import { stampOf } from '../../../src/internal/process-stamp.js';
import { isRunning } from '../../support/process-groups.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const kind = 'test';
const twoDaysAgo = new Date(Date.now() - 2 * 24 * 60 * 60_000);

/** A process that has ended, as it would have described itself. */
function overStamp() {
  const { pid } = spawnSync('true');
  return { ...stampOf(process.pid), pid, startTime: '1' };
}

/** What a process with this stamp would have left. */
async function leftBy(root: string, stamp: object): Promise<string> {
  const folder = await OwnedFolder.create({ root, kind, logger });
  folder.abandon();
  writeFileSync(join(await folder.part('job'), 'file'), 'x');
  writeFileSync(join(folder.path, 'owner.json'), JSON.stringify(stamp));
  return folder.path;
}

describe('a folder with an owner', () => {
  it('is this user’s alone, is wiped part by part, and goes with its owner', async () => {
    await using dir = tempDir('owned');
    const folder = await OwnedFolder.create({ root: dir.file('root'), kind, logger });
    const [one, two] = [await folder.part('one'), await folder.part('two')];
    for (const path of [dir.file('root'), folder.path, one]) expect(statSync(path).mode & 0o777).toBe(0o700);
    writeFileSync(join(one, 'file'), 'x');
    await folder.wipe('one');
    expect([existsSync(one), existsSync(two)]).toEqual([false, true]);
    await folder.wipe('was never there');
    await folder.remove();
    expect(readdirSync(dir.file('root'))).toEqual([]);
  });

  it('is refused where its root is another’s to write: a link, a file', async () => {
    await using dir = tempDir('owned');
    mkdirSync(dir.file('elsewhere'));
    symlinkSync(dir.file('elsewhere'), dir.file('link'));
    await leftBy(dir.file('elsewhere'), overStamp());
    writeFileSync(dir.file('file'), '');
    for (const name of ['link', 'file'])
      await expect(OwnedFolder.create({ root: dir.file(name), kind, logger })).rejects.toMatchObject({
        code: 'folder-unusable',
        message: expect.stringContaining(dir.file(name)),
      });
    expect(await sweepOwnedFolders({ root: dir.file('link'), logger })).toEqual([]);
  });
});

describe('a sweep', () => {
  it('removes what owners that are over have left, and what a sweep before had begun to', async () => {
    await using dir = tempDir('owned');
    const left = await leftBy(dir.path, overStamp());
    mkdirSync(dir.file('gone-0123', 'deep'), { recursive: true });
    const living = await OwnedFolder.create({ root: dir.path, kind, logger });
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toEqual([left.slice(dir.path.length + 1)]);
    expect(readdirSync(dir.path)).toEqual([living.path.slice(dir.path.length + 1)]);
    await living.remove();
  });

  it('ends the group that still works in such a folder before it takes that away', async () => {
    await using dir = tempDir('owned');
    const user = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const folder = await OwnedFolder.create({ root: dir.path, kind, logger });
    folder.abandon();
    await folder.noteUser('job', user.pid as number);
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toEqual([]);
    expect(isRunning(user.pid as number)).toBe(true);
    writeFileSync(join(folder.path, 'owner.json'), JSON.stringify(overStamp()));
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toHaveLength(1);
    await waitFor(() => !isRunning(user.pid as number), { describe: 'the group to be ended' });
  });

  it('kills nobody who has the number of a group that is gone', async () => {
    await using dir = tempDir('owned');
    const other = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const left = await leftBy(dir.path, overStamp());
    const stamp = { ...stampOf(other.pid as number), startTime: '1' };
    writeFileSync(join(left, 'job.user'), JSON.stringify(stamp));
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toHaveLength(1);
    expect(isRunning(other.pid as number)).toBe(true);
    other.kill('SIGKILL');
  });

  it.each([
    ['on another boot', { bootId: 'another' }],
    ['in another PID namespace', { pidNamespace: 'pid:[1]' }],
  ])('leaves the folder of an owner %s alone until it was not touched for a day', async (_where, other) => {
    await using dir = tempDir('owned');
    const left = await leftBy(dir.path, { ...overStamp(), ...other });
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toEqual([]);
    utimesSync(join(left, 'owner.json'), twoDaysAgo, twoDaysAgo);
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toHaveLength(1);
  });

  it('leaves alone what is no such folder, and that of a living owner however old', async () => {
    await using dir = tempDir('owned');
    await using elsewhere = tempDir('owned');
    const living = await leftBy(dir.path, stampOf(process.pid));
    utimesSync(join(living, 'owner.json'), twoDaysAgo, twoDaysAgo);
    mkdirSync(dir.file('foreign', 'data'), { recursive: true });
    const unread = await leftBy(dir.path, {});
    const linked = await leftBy(elsewhere.path, overStamp());
    symlinkSync(linked, dir.file('link'));
    writeFileSync(dir.file('file'), '');
    for (const path of [dir.file('foreign'), unread]) utimesSync(path, twoDaysAgo, twoDaysAgo);
    const before = readdirSync(dir.path, { recursive: true });
    expect(await sweepOwnedFolders({ root: dir.path, logger })).toEqual([]);
    expect(readdirSync(dir.path, { recursive: true })).toEqual(before);
    expect(existsSync(join(linked, 'job', 'file'))).toBe(true);
  });

  it('beside others removes each folder once', async () => {
    await using dir = tempDir('owned');
    for (let count = 0; count < 10; count += 1) await leftBy(dir.path, overStamp());
    const swept = await Promise.all([1, 2, 3].map(() => sweepOwnedFolders({ root: dir.path, logger })));
    expect(new Set(swept.flat()).size).toBe(10);
    expect(swept.flat()).toHaveLength(10);
    expect(readdirSync(dir.path)).toEqual([]);
  });
});
