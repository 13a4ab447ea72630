/** The page of one job: in a browser context of its own, which has nothing of any other job and is gone with it. */
import type { BrowserMembers } from '../../client/browser-job.js';
import { type BrowserOptions, type DressesBrowser, dressBrowser } from '../../client/browser-options.js';
import { MillraceError } from '../../internal/errors.js';
import type { CdpConnection } from '../cdp/cdp-connection.js';
import type { CdpSession } from '../cdp/cdp-session.js';
import { refuseFiles } from '../net/refuse-files.js';
import { openPuppeteerPage } from '../puppeteer/puppeteer-page.js';
import { JobTab } from '../tab/job-tab.js';
import { PageWatch } from '../tab/page-watch.js';
import { type Guard, TabPort } from '../tab/tab-port.js';
import { JobCdpClient } from './cdp-client.js';
import { dressPage } from './dress-page.js';

export interface JobPage {
  readonly browserContextId: string;
  readonly targetId: string;
  /** Of the lane and of what the handler is given. */
  readonly session: CdpSession;
  /** What a handler gets beside what every handler gets. */
  readonly members: BrowserMembers & DressesBrowser;
}

export interface JobPageOptions {
  /** Of the attempt. */
  readonly signal: AbortSignal;
  /** The handler may want Puppeteer. */
  readonly hasPuppeteer: boolean;
  /** Of its Chrome; null: it has none. */
  readonly guard: Guard | null;
}

/** Whoever opened it disposes of the context. */
export async function openJobPage(connection: CdpConnection, options: JobPageOptions): Promise<JobPage> {
  const { browser } = connection;
  const { browserContextId } = await browser.send('Target.createBrowserContext', { disposeOnDetach: true });
  const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank', browserContextId });
  const session = await connection.attach(targetId);
  const watch = await PageWatch.open(session, options.signal);
  if (options.guard !== null) await refuseFiles(session);
  const { signal } = watch;
  const puppeteer = options.hasPuppeteer
    ? await openPuppeteerPage(connection, { browserContextId, signal })
    : null;
  const members = {
    tab: new JobTab(new TabPort(session, watch, options.guard)),
    cdp: new JobCdpClient(session, signal),
    [dressBrowser]: (given: BrowserOptions) => dressPage({ connection, browserContextId, session }, given),
    get page(): BrowserMembers['page'] {
      if (puppeteer !== null && 'page' in puppeteer) return puppeteer.page;
      throw (
        puppeteer?.missing ?? new MillraceError('puppeteer-missing', 'this job has no ctx.page: use ctx.tab')
      );
    },
  };
  return { browserContextId, targetId, session, members };
}
