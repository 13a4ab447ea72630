import { resolve } from 'node:path';
import { capturePage } from '../../browser/capture/index.js';
import type { CaptureOptions } from '../../client/capture/capture-options.js';
import type { CaptureResult } from '../../client/capture/capture-result.js';
import { hasErrorCode, MillraceError } from '../../internal/errors.js';
import { printable } from '../../internal/printable.js';
import { resolveSettings } from '../../internal/settings.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { fileLine } from './files.js';

interface Flags {
  readonly output?: string;
  readonly waitUntil?: string;
  readonly waitFor?: string;
  readonly timeout?: string;
  readonly scroll?: boolean;
  readonly html?: boolean;
  readonly text?: boolean;
  readonly links?: boolean;
  readonly screenshot?: string | false;
  readonly type?: string;
  readonly pdf?: boolean;
  readonly assets?: boolean;
  readonly device?: string;
  readonly contact?: string;
  readonly allowPrivate?: boolean;
}

export const capture: CommandSpec<Flags> = {
  name: 'capture <url>',
  summary: 'capture a page: text, links, HTML and a picture of all of it',
  details:
    'Starts a Chrome for this one page and needs no worker, hub or database. Files of the same name in the folder are replaced.\n' +
    'Exit 0 when all of it was kept, 1 when a part of it is missing or the page could not be opened.',
  examples: [
    'millrace capture https://example.com/ -o example',
    'millrace capture https://example.com/ --device phone --assets --pdf',
    'millrace capture http://localhost:3000/ --allow-private --json',
  ],
  addOptions(command) {
    command
      .option('-o, --output <folder>', 'where its files go (default: captured)')
      .option('--wait-until <what>', 'domcontentloaded, load or quiet (default: load)')
      .option('--wait-for <selector>', 'also until this is visible')
      .option('--timeout <duration>', 'for all of it (default: 60s)')
      .option('--no-scroll', 'leave out what loads when it is scrolled to')
      .option('--no-html', 'without page.html')
      .option('--no-text', 'without page.txt')
      .option('--no-links', 'without links.json')
      .option('--screenshot <of>', 'page, viewport or a selector (default: page)')
      .option('--no-screenshot', 'without a picture')
      .option('--type <type>', 'of the picture: png, jpeg or webp (default: png)')
      .option('--pdf', 'also page.pdf')
      .option('--assets', 'also what the page is made of')
      .option('--device <device>', 'desktop or phone (default: desktop)')
      .option('--contact <text>', 'how to reach you, for the owner of the site')
      .option('--allow-private', 'also addresses that are not of the public internet');
  },
  async run(context, [given = ''], flags) {
    const { terminal, cwd, env } = context;
    const { values } = resolveSettings({ env });
    const folder = resolve(cwd, flags.output ?? 'captured');
    const { url, ...options } = optionsOf(given, flags);
    const result = await capturePage(url, {
      ...options,
      folder,
      chromePath: values.chromePath,
      privateTargets: flags.allowPrivate === true ? 'all' : values.browserPrivateTargets,
      onProgress: (done, total, phase) => terminal.progress(`${bar(done, total)} ${phase}`),
    }).catch((error: unknown) => {
      if (hasErrorCode(error, 'target-refused'))
        terminal.note('With --allow-private it is captured all the same.');
      throw error;
    });
    terminal.endProgress();
    terminal.answer({ ...result, folder }, () => {
      for (const line of linesOf(result)) terminal.line(line);
      for (const file of result.files) terminal.line(`  ${fileLine(file)}`);
      terminal.line(`saved ${result.files.length} in ${printable(folder)}`);
    });
    return result.partial ? exitCodes.failed : exitCodes.ok;
  },
};

function optionsOf(url: string, flags: Flags): CaptureOptions {
  const { waitUntil, waitFor, timeout, device, contact, type, screenshot, ...others } = flags;
  if (!/^https?:\/\//i.test(url))
    throw new MillraceError(
      'usage-invalid',
      `<url>: expected a whole address such as https://example.com/, got ${JSON.stringify(url)}`,
    );
  const of =
    screenshot === undefined || screenshot === 'page' || screenshot === 'viewport' || screenshot === false
      ? screenshot
      : { selector: screenshot };
  const picture = {
    ...(of === undefined || of === false ? {} : { of }),
    ...(type === undefined ? {} : { type }),
  };
  const { scroll = true, html = true, text = true, links = true, pdf = false, assets = false } = others;
  const named = { waitUntil, waitFor, timeout, device, contact };
  // Checked with everything else, in one place.
  return {
    ...{ url, scroll, html, text, links, pdf, assets },
    screenshot: of === false ? false : picture,
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
  } as CaptureOptions;
}

const barWidth = 20;

function bar(done: number, total: number): string {
  const full = Math.round((barWidth * done) / Math.max(total, 1));
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}]`;
}

function linesOf({
  title,
  finalUrl,
  status,
  redirects,
  timings,
  counts,
  consoleErrors,
  problems,
}: CaptureResult): string[] {
  const { requests, failed, bytes } = counts;
  return [
    title === '' ? 'no title' : title,
    `${finalUrl}  ${status ?? 'no status'}${redirects.length === 0 ? '' : `, by ${redirects.length} redirects`}`,
    `${requests} requests (${failed} failed), ${Math.round(bytes / 1024)} KB, there after ${timings.loadedMs} ms, kept after ${timings.totalMs} ms`,
    ...(consoleErrors.length === 0
      ? []
      : [`${consoleErrors.length} errors of the page, the first: ${consoleErrors[0]?.split('\n')[0]}`]),
    ...problems.map(({ part, message }) => `missing: ${part}: ${message}`),
  ].map(printable);
}
