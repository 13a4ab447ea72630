/** What the HTTP API says of files. */
import { z } from 'zod';
import { named } from './schema-registry.js';

export const fileShape = named(
  'File',
  'A file that is kept with a job.',
  z.object({
    id: z.uuid(),
    name: z.string().describe('Without folders and what can’t be seen; one of its kind within the job.'),
    type: z.string().describe('Its media type.'),
    sizeBytes: z.number().int().nonnegative(),
    sha256: z.string().describe('Of its bytes, in hex.'),
    createdAt: z.iso.datetime(),
  }),
);

export type FileShape = z.output<typeof fileShape>;

export const filesAnswer = named(
  'Files',
  'The files of a job, by name.',
  z.object({ files: z.array(fileShape).readonly() }),
);

/** Bytes are text for a schema. */
export const fileBytesText = z.string();

export const fileParams = z.object({ id: z.string().describe('The id of a file.') });

const header = (about: string) => z.string().optional().describe(about);

export const fileHeaders = z.object({
  range: header(
    'One range of bytes, as `bytes=0-1023`; several, or what can’t be read, give the whole file.',
  ),
  'if-range': header('The `ETag` for which the range is meant; another one gives the whole file.'),
  'if-none-match': header('The `ETag` that is there already: then 304.'),
});
