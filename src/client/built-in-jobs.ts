import { pageCapture } from './capture/page-capture.js';
import type { JobDefinition } from './job-definition.js';

/** Jobs that every client can dispatch by name, and every worker runs that has the lanes for them. */
export const builtInJobs: ReadonlyMap<string, JobDefinition> = new Map([[pageCapture.name, pageCapture]]);
