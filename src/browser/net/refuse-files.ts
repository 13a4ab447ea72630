import type { CdpSession } from '../cdp/cdp-session.js';

/**
 * Pages can't open files of this machine by themselves; a handler that passes on an address it was given could, past
 * `ctx.tab`. Holds for the page of the job, unless its handler turns interception of this session off.
 */
export async function refuseFiles(session: CdpSession): Promise<void> {
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    if (!request.url.startsWith('file:')) return;
    // The page may have gone meanwhile.
    session.send('Fetch.failRequest', { requestId, errorReason: 'AccessDenied' }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: 'file://*' }] });
}
