import type { Page } from 'puppeteer-core';
import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import type { CdpConnection } from '../cdp/cdp-connection.js';
import { RelayTransport } from './relay-transport.js';

type Puppeteer = Pick<typeof import('puppeteer-core'), 'connect'>;

/** Puppeteer's page, or why there is none. */
export type PuppeteerPage = { readonly page: Page } | { readonly missing: MillraceError };

export interface PageToFind {
  /** That has the page of the job and no other. */
  readonly browserContextId: string;
  /** Ends every call of Puppeteer. */
  readonly signal: AbortSignal;
}

const connectMs = 10_000;
/** A backstop only: Puppeteer’s calls end with the attempt and with the page. */
const callMs = 300_000;

/** Never rejects: a job that does not use the page needs none. */
export async function openPuppeteerPage(
  connection: CdpConnection,
  toFind: PageToFind,
): Promise<PuppeteerPage> {
  const puppeteer = await load();
  if (puppeteer === null) {
    return {
      missing: missing(
        'ctx.page is the page of Puppeteer, which is not installed. Run: npm i puppeteer-core@24',
      ),
    };
  }
  try {
    const page = await withDeadline(connect(puppeteer, connection, toFind), {
      ms: connectMs,
      name: 'ctx.page',
    });
    return { page };
  } catch (error) {
    const { message } = describeFailure(error);
    const what = `ctx.page: puppeteer-core could not take over the page: ${message}. Expected version 24: npm i puppeteer-core@24`;
    return { missing: missing(what, error) };
  }
}

async function load(): Promise<Puppeteer | null> {
  try {
    return await import('puppeteer-core');
  } catch {
    // An optional package.
    return null;
  }
}

async function connect(
  puppeteer: Puppeteer,
  connection: CdpConnection,
  { browserContextId, signal }: PageToFind,
): Promise<Page> {
  const transport = await RelayTransport.open(connection, signal);
  const browser = await puppeteer.connect({ transport, defaultViewport: null, protocolTimeout: callMs });
  const context = browser.browserContexts().find(({ id }) => id === browserContextId);
  const [page] = (await context?.pages()) ?? [];
  if (page === undefined) throw new Error('it does not see the page');
  return page;
}

const missing = (message: string, cause?: unknown): MillraceError =>
  new MillraceError('puppeteer-missing', message, cause === undefined ? {} : { cause });
