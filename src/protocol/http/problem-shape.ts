/** How every error of the HTTP API is told: RFC 9457, with our codes. */
import { z } from 'zod';
import { named } from './schema-registry.js';

export const problemEntry = z.object({
  path: z.string().describe('Where in the request, as in `options.priority`; empty where it is the whole.'),
  message: z.string(),
});

export const problemShape = named(
  'Problem',
  'An error, as RFC 9457 says.',
  z.object({
    type: z.string().describe('`urn:millrace:error:` and the code.'),
    title: z.string().describe('What a code means, in one sentence.'),
    status: z.int(),
    detail: z.string().describe('What happened this time, and what to do.'),
    code: z.string().describe('Stable; every code stands in the error reference.'),
    retryable: z.boolean().describe('Whether the same request, made again later, can succeed.'),
    problems: z.array(problemEntry).optional().describe('With 422: everything that is wrong, at once.'),
    details: z.record(z.string(), z.unknown()).optional().describe('The values that the text names.'),
  }),
);

export type ProblemShape = z.infer<typeof problemShape>;
export type ProblemEntry = z.infer<typeof problemEntry>;
