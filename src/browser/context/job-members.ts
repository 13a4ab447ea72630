import type { BrowserMembers } from '../../client/browser-job.js';
import type { CdpSession } from '../cdp/cdp-session.js';
import { JobCdpClient } from './cdp-client.js';

export interface JobBrowser {
  /** With the page of the job. */
  readonly session: CdpSession;
  /** Of the attempt. */
  readonly signal: AbortSignal;
}

/** What a handler gets beside what every handler gets. */
export function jobMembers({ session, signal }: JobBrowser): BrowserMembers {
  return { cdp: new JobCdpClient(session, signal) };
}
