import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { MillraceHttp } from '../../../src/client/http/millrace-http.js';
import { type Millrace, newJobId } from '../../../src/index.js';
import { filesAnswer } from '../../../src/protocol/http/file-shapes.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable } from '../../support/engines.js';
import { tempDir } from '../../support/temp.js';
import { openApi, work } from './api-stage.js';
import { expectProblem } from './jobs-suite.js';

const page = '<script>alert(1)</script>';
const image = randomBytes(600_000);
const name = 'Bericht „Juli“ (1).html';
const keeps = defineJob('keeps', {
  async run({ files }) {
    await files.put(name, page);
    await files.put('image.png', image);
    await files.put('empty', '');
  },
});

async function stage(engine: Engine) {
  const dir = tempDir('files');
  const at = await openApi(engine, { jobs: [keeps], files: dir.path });
  const { id } = await at.client.dispatch(keeps);
  await work(at.client);
  const listed = filesAnswer.parse((await at.call('GET', `/jobs/${id}/files`)).body).files;
  const get = (of: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${at.url}/files/${listed.find((file) => file.name === of)?.id}`, { method, headers });
  return {
    ...{ at, id, listed, get },
    async [Symbol.asyncDispose]() {
      await at[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Files over HTTP, on every engine. */
export function filesSuite(engine: Engine): void {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] http: files`, () => {
    it('lists the files of a job, and gives each as an attachment that runs nowhere', async () => {
      await using here = await stage(engine);
      expect(here.listed.map(({ name, type, sizeBytes }) => [name, type, sizeBytes])).toEqual([
        [name, 'text/html; charset=utf-8', 25],
        ['empty', 'text/plain; charset=utf-8', 0],
        ['image.png', 'image/png', 600_000],
      ]);
      const answer = await here.get(name);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toBe(page);
      const header = (of: string) => answer.headers.get(of);
      expect(header('content-type')).toBe('text/html; charset=utf-8');
      expect(header('content-disposition')).toBe(
        'attachment; filename="Bericht _Juli_ (1).html"; filename*=UTF-8\'\'Bericht%20%E2%80%9EJuli%E2%80%9C%20%281%29.html',
      );
      expect(header('x-content-type-options')).toBe('nosniff');
      expect(header('content-security-policy')).toMatch(/^sandbox; default-src 'none'/);
      expect(header('content-length')).toBe('25');
      expect(header('etag')).toBe(`"${createHash('sha256').update(page).digest('hex')}"`);
      const empty = await here.get('empty');
      expect([empty.status, await empty.text()]).toEqual([200, '']);
      const whole = await here.get('image.png');
      expect(Buffer.from(await whole.arrayBuffer()).equals(image)).toBe(true);
    });

    it('gives parts by Range, only of the file that is meant', async () => {
      await using here = await stage(engine);
      const tag = (await here.get('image.png', {}, 'HEAD')).headers.get('etag') ?? '';
      const part = await here.get('image.png', { range: 'bytes=262140-262150', 'if-range': tag });
      expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 262140-262150/600000']);
      expect(Buffer.from(await part.arrayBuffer()).equals(image.subarray(262_140, 262_151))).toBe(true);
      const other = await here.get('image.png', { range: 'bytes=0-1', 'if-range': '"other"' });
      expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, 600_000]);
      const tail = await here.get('image.png', { range: 'bytes=-5' });
      expect(Buffer.from(await tail.arrayBuffer()).equals(image.subarray(-5))).toBe(true);
      const beyond = await here.get('image.png', { range: 'bytes=600000-' });
      expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */600000']);
      expect(await beyond.json()).toMatchObject({ code: 'range-unsatisfiable' });
      const same = await here.get('image.png', { 'if-none-match': tag });
      expect([same.status, await same.text()]).toEqual([304, '']);
    });

    it('answers HEAD with all that is known and no bytes', async () => {
      await using here = await stage(engine);
      const answer = await here.get('image.png', {}, 'HEAD');
      expect([answer.status, await answer.text()]).toEqual([200, '']);
      expect(answer.headers.get('content-length')).toBe('600000');
      expect(answer.headers.get('content-type')).toBe('image/png');
    });

    it('refuses what is no file or job', async () => {
      await using here = await stage(engine);
      expectProblem(await here.at.call('GET', `/files/${newJobId()}`), 404, 'file-not-found');
      expectProblem(await here.at.call('GET', '/files/..%2f..%2fetc%2fpasswd'), 422, 'option-invalid');
      expectProblem(await here.at.call('GET', `/jobs/${newJobId()}/files`), 404, 'job-not-found');
      expectProblem(await here.at.call('GET', '/jobs/none/files'), 422, 'option-invalid');
      expectProblem(await here.at.call('POST', `/files/${newJobId()}`, {}), 405, 'method-not-allowed');
      await here.at.client.delete(here.id);
      expectProblem(await here.at.call('GET', `/files/${here.listed[0]?.id}`), 404, 'file-not-found');
    });

    it('are had from TypeScript, with a database and without', async () => {
      await using here = await stage(engine);
      await using http = new MillraceHttp({ url: here.at.url });
      for (const client of [here.at.client, http] as readonly Pick<Millrace, 'files' | 'file'>[]) {
        const files = await client.files(here.id);
        expect(files.map((file) => file.name)).toEqual([name, 'empty', 'image.png']);
        const opened = await client.file(files[0]?.id ?? '');
        expect(opened?.file).toMatchObject({ name, type: 'text/html; charset=utf-8', sizeBytes: 25 });
        expect(opened?.file.createdAt).toBeInstanceOf(Date);
        const parts: Uint8Array[] = [];
        for await (const part of opened?.content ?? []) parts.push(part);
        expect(Buffer.concat(parts).toString()).toBe(page);
        expect(await client.file(newJobId())).toBeNull();
        expect(await client.files(newJobId())).toEqual([]);
      }
    });
  });
}
