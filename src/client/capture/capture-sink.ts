import type { CapturedFile } from './capture-result.js';

/** Where what was captured goes: the files of a job, or a folder. What was put is kept whatever comes after. */
export interface CaptureSink {
  put(name: string, content: Uint8Array | string, type: string): Promise<CapturedFile>;
}
