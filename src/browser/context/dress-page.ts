import type { Protocol } from 'devtools-protocol';
import type { BrowserOptions } from '../../client/browser-options.js';
import type { CdpConnection } from '../cdp/cdp-connection.js';
import type { CdpSession } from '../cdp/cdp-session.js';

export interface Undressed {
  readonly connection: CdpConnection;
  readonly browserContextId: string;
  readonly session: CdpSession;
}

/**
 * Gives the page of a job what its definition says of it; before its first navigation.
 *
 * @throws MillraceError `browser-call-failed` when Chrome refuses some of it
 */
export async function dressPage(page: Undressed, options: BrowserOptions): Promise<void> {
  const { session } = page;
  const { viewport, timeZone, headers, cookies, blockUrls } = options;
  if (viewport !== undefined) {
    const { width, height, scale = 1, mobile = false } = viewport;
    await session.send('Emulation.setDeviceMetricsOverride', {
      ...{ width, height, mobile },
      deviceScaleFactor: scale,
    });
  }
  await speak(session, options);
  if (timeZone !== undefined) await session.send('Emulation.setTimezoneOverride', { timezoneId: timeZone });
  if (headers !== undefined) await session.send('Network.setExtraHTTPHeaders', { headers: { ...headers } });
  if (cookies !== undefined) await session.send('Network.setCookies', { cookies: [...cookies] });
  if (blockUrls !== undefined) await session.send('Network.setBlockedURLs', { urls: [...blockUrls] });
  await grant(page, options);
}

async function speak(session: CdpSession, { locale, userAgent }: BrowserOptions): Promise<void> {
  if (locale !== undefined) await session.send('Emulation.setLocaleOverride', { locale });
  if (locale === undefined && userAgent === undefined) return;
  const given = userAgent ?? (await session.send('Browser.getVersion')).userAgent;
  await session.send('Network.setUserAgentOverride', {
    userAgent: given,
    ...(locale === undefined ? {} : { acceptLanguage: locale }),
  });
}

async function grant(
  { connection, browserContextId }: Undressed,
  { permissions = [] }: BrowserOptions,
): Promise<void> {
  if (permissions.length === 0) return;
  // Chrome knows their names, and refuses others.
  const names = permissions as Protocol.Browser.PermissionType[];
  await connection.browser.send('Browser.grantPermissions', { permissions: names, browserContextId });
}
