import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { StoredFile } from '../../client/job-files.js';
import type { Millrace } from '../../client/millrace.js';
import { printable } from '../../internal/printable.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { checkJobId, noSuchJob, resolveJobId } from '../resolve-job-id.js';
import { openSession } from '../session.js';

export const files: CommandSpec<{ readonly output?: string }> = {
  name: 'files <id>',
  summary: 'list the files of a job, or save them into a folder',
  details:
    'The id is that of the job, or its last 6 or more characters. Files of the same name in the folder are replaced.',
  examples: ['millrace files 7f3a9c21b0de', 'millrace files 7f3a9c21b0de -o captured'],
  addOptions(command) {
    command.option('-o, --output <folder>', 'save them there');
  },
  async run(context, [given = ''], { output }) {
    checkJobId(given);
    await using session = await openSession(context);
    const id = await resolveJobId(session.storage, given);
    if ((await session.client.job(id)) === null) throw noSuchJob(id);
    const found = await session.client.files(id);
    const folder = output === undefined ? null : resolve(context.cwd, output);
    if (folder !== null) await save(session.client, found, folder);
    context.terminal.answer({ files: found, folder }, () => {
      for (const file of found) context.terminal.line(fileLine(file));
      if (found.length === 0) context.terminal.line('no files');
      else if (folder !== null) context.terminal.line(`saved ${found.length} in ${printable(folder)}`);
    });
    return exitCodes.ok;
  },
};

export function fileLine({ name, type, sizeBytes }: Pick<StoredFile, 'name' | 'type' | 'sizeBytes'>): string {
  return `${printable(name)}  ${printable(type)}  ${sizeText(sizeBytes)}`;
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KB`;
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MB` : `${(bytes / 1024 ** 3).toFixed(1)} GB`;
}

/** Names were made harmless when the files were put. Nothing half-written stands under its name. */
async function save(client: Millrace, found: readonly StoredFile[], folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { id, name } of found) {
    const opened = await client.file(id);
    // It went while others were saved.
    if (opened === null) continue;
    const draft = join(folder, `.${id}.part`);
    try {
      await pipeline(Readable.from(opened.content, { objectMode: false }), createWriteStream(draft));
      await rename(draft, join(folder, name));
    } finally {
      await rm(draft, { force: true });
    }
  }
}
