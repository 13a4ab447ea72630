/**
 * Files of jobs. What they hold comes from handlers and from pages of strangers, so nothing of it is ever shown as a page
 * of this hub: it is sent as an attachment, by the type that was kept with it and none that is guessed, under a policy that
 * lets it run nothing.
 */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { parseFileId } from '../../../client/files.js';
import { MillraceError } from '../../../internal/errors.js';
import { fileBytesText, fileHeaders, fileParams, filesAnswer } from '../../../protocol/http/file-shapes.js';
import { idParams } from '../../../protocol/http/job-requests.js';
import type { FileKeeper } from '../../../storage/files/file-keeper.js';
import type { FileRecord } from '../../../storage/job-file.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, problems, toldAs } from '../api-routes.js';
import { byteRange, hasTag } from '../byte-range.js';
import { needs } from '../route-role.js';

const tags = ['Files'];
const config = needs('read');
/** A reader that takes nothing for so long is let go. */
const idleMs = 60_000;
const policy = "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function fileRoutes(app: ApiApp, { client }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/jobs/:id/files',
    config,
    schema: {
      operationId: 'files',
      summary: 'The files that are kept with a job',
      tags,
      params: idParams,
      response: { 200: filesAnswer, ...problems(404, 422) },
    },
    async handler({ params: { id } }) {
      const files = await client.files(id);
      if (files.length === 0 && (await client.job(id)) === null)
        throw new MillraceError('job-not-found', `there is no job ${id}`, { details: { id } });
      return toldAs({ files });
    },
  });
  fileRoute(app, client);
}

function fileRoute(app: ApiApp, client: ApiDeps['client']): void {
  const handler = async (asked: Asked, reply: FastifyReply) =>
    await send(asked, client.internals.files, reply);
  app.route({
    method: 'GET',
    url: '/files/:id',
    config,
    exposeHeadRoute: false,
    schema: {
      operationId: 'file',
      summary: 'The bytes of a file',
      description:
        'Always as an attachment, with the type it was put with. `ETag` is the SHA-256 of its bytes; parts are had by `Range`. HEAD answers the same without the bytes.',
      tags,
      params: fileParams,
      headers: fileHeaders,
      response: {
        200: bytes('The whole file.'),
        206: bytes('The part that was asked for, named by `Content-Range`.'),
        304: {
          description: 'It is the one that is there already.',
          content: { 'text/plain': { schema: fileBytesText } },
        },
        ...problems(404, 416, 422),
      },
    },
    handler: (request, reply) => handler(request, reply as FastifyReply),
  });
  app.route({
    method: 'HEAD',
    url: '/files/:id',
    config,
    schema: { hide: true, params: fileParams, headers: fileHeaders },
    handler: (request, reply) => handler(request, reply as FastifyReply),
  });
}

interface Asked {
  readonly params: z.output<typeof fileParams>;
  readonly headers: z.output<typeof fileHeaders>;
  readonly method: string;
}

const bytes = (description: string) => ({
  description,
  content: { 'application/octet-stream': { schema: fileBytesText } },
});

async function send(
  { params, headers, method }: Asked,
  files: FileKeeper,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const file = await files.find(parseFileId(params.id));
  if (file === null) throw new MillraceError('file-not-found', `there is no file ${params.id}`);
  tellOf(file, reply);
  if (hasTag(headers['if-none-match'], tagOf(file))) return reply.code(304).send();
  const isMeant = headers['if-range'] === undefined || headers['if-range'] === tagOf(file);
  const range = isMeant ? byteRange(headers.range, file.sizeBytes) : null;
  if (range === 'unsatisfiable') throw unsatisfiable(file, reply);
  const { start, end } = range ?? { start: 0, end: file.sizeBytes };
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${file.sizeBytes}`);
  reply.header('content-length', end - start);
  if (method === 'HEAD') return reply.serializer(String).send('');
  const content = await begun(await files.open(file, { start, end }));
  reply.raw.setTimeout(idleMs, () => reply.raw.destroy());
  return reply.send(Readable.from(content, { objectMode: false }));
}

const tagOf = ({ sha256 }: FileRecord): string => `"${sha256}"`;

function tellOf(file: FileRecord, reply: FastifyReply): void {
  reply.headers({
    'content-type': file.type,
    'content-disposition': attachment(file.name),
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag: tagOf(file),
    'last-modified': new Date(file.createdAtMs).toUTCString(),
  });
}

/** RFC 6266: plain for old readers, whole for others (RFC 8187). */
function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}

/** With its first piece read, so that what is missing is told before an answer has begun. */
async function begun(content: AsyncIterable<Uint8Array>): Promise<AsyncGenerator<Uint8Array>> {
  const source = content[Symbol.asyncIterator]();
  const first = await source.next();
  return (async function* () {
    try {
      for (let piece = first; piece.done !== true; piece = await source.next()) yield piece.value;
    } finally {
      await source.return?.();
    }
  })();
}

function unsatisfiable(file: FileRecord, reply: FastifyReply): MillraceError {
  reply.header('content-range', `bytes */${file.sizeBytes}`);
  for (const name of ['content-disposition', 'etag']) reply.removeHeader(name);
  return new MillraceError(
    'range-unsatisfiable',
    `Range: expected a part of the ${file.sizeBytes} bytes of this file, got none of them`,
    { details: { sizeBytes: file.sizeBytes } },
  );
}
