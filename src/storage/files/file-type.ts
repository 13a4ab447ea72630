import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';

const byEnding: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  css: 'text/css; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  log: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  mhtml: 'multipart/related',
  mjs: 'text/javascript; charset=utf-8',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  txt: 'text/plain; charset=utf-8',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  woff2: 'font/woff2',
  xml: 'application/xml',
  zip: 'application/zip',
};

export const unknownType = 'application/octet-stream';

/** What a header may say without a second line in it. */
const form = /^[a-z0-9][\w.+-]{0,60}\/[a-z0-9][\w.+-]{0,60}(?: ?; ?[\w-]{1,30}=[\w.+-]{1,60}){0,2}$/i;

/** By the ending of its name. */
export function typeOfName(name: string): string {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(byEnding, ending) ? (byEnding[ending] ?? unknownType) : unknownType;
}

/** @throws MillraceError `option-invalid` */
export function parseFileType(type: unknown): string {
  if (typeof type === 'string' && form.test(type)) return type.toLowerCase();
  throw new MillraceError(
    'option-invalid',
    `type of a file: expected a media type such as "image/png", got ${describeValue(type)}`,
  );
}
