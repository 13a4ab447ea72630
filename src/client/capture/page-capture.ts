import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defineJob } from '../define-job.js';
import { capture } from './capture.js';
import { type CaptureOptions, resolveCapture } from './capture-options.js';
import type { CaptureResult } from './capture-result.js';

const captureInput: StandardSchemaV1<CaptureOptions> = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate(value) {
      resolveCapture(value);
      return { value: value as CaptureOptions };
    },
  },
};

/**
 * The built-in job that captures a page. Every worker with browser lanes runs it; a client that dispatches it by its
 * definition has its input checked. Files are those of the job.
 *
 * @example
 * const handle = await millrace.dispatch(pageCapture, { url: 'https://example.com/' });
 * const { title } = await handle.result();
 * for (const { id, name } of await millrace.files(handle.id)) console.log(id, name);
 */
export const pageCapture = defineJob('page.capture', {
  lane: 'browser',
  timeout: '10m',
  attempts: 3,
  input: captureInput,
  browser: (input: CaptureOptions) => resolveCapture(input).browser,
  async run({ input, tab, cdp, files, progress }): Promise<CaptureResult> {
    return capture(resolveCapture(input), {
      browser: { tab, cdp },
      sink: {
        async put(name, content, type) {
          const { createdAt: _, ...file } = await files.put(name, content, { type });
          return file;
        },
      },
      onProgress: progress,
      nowMs: () => performance.now(),
    });
  },
});
