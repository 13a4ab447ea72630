import { createHash } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import { emptyDatabase } from '../../support/engines.js';
import { act, actBriefly, actInline, actSoon } from '../../support/lane-jobs.mjs';
import { quietStderr } from '../../support/quiet-stderr.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const module = pathToFileURL(fileURLToPath(new URL('../../support/lane-module.mjs', import.meta.url)));

test('[sqlite] files of a process lane go by its worker, and those it had put outlive its death', async () => {
  using _quiet = quietStderr();
  await using database = await emptyDatabase('sqlite');
  await using dir = tempDir('files');
  process.env['MILLRACE_TEST_LANE_DATABASE'] = database.address;
  const jobs: readonly JobDefinition[] = [act, actBriefly, actSoon, actInline] as never;
  await using millrace = new Millrace({
    ...{ database: database.address, jobs, files: dir.path, workerSleep: '200ms', killGrace: '200ms' },
  });
  await using worker = millrace.worker({ module, processLanes: 1 });
  await worker.start();
  const bytes = 900_001;
  const kept = await millrace.dispatch('act', { do: 'keep-file', bytes });
  expect(await kept.result({ timeout: '60s' })).toEqual({
    ...{ bytes, names: ['kept.bin'] },
    sha256: createHash('sha256').update(Buffer.alloc(bytes, 7)).digest('hex'),
  });
  const { id } = await millrace.dispatch('act', { do: 'keep-and-die' });
  await waitFor(async () => ((await millrace.job(id))?.deaths ?? 0) > 0, {
    ...{ describe: 'the lane to die under the job', deadlineMs: 60_000 },
  });
  const files = await millrace.files(id);
  expect(files.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([['first.txt', 19]]);
  const opened = await millrace.file(files[0]?.id ?? '');
  for await (const part of opened?.content ?? [])
    expect(Buffer.from(part).toString()).toBe('kept before it died');
}, 120_000);
