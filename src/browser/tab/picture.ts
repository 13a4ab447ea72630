import type { Protocol } from 'devtools-protocol';
import type { PdfOptions, ScreenshotOptions } from '../../client/browser-tab.js';
import { describeValue } from '../../internal/describe-value.js';
import { MillraceError } from '../../internal/errors.js';
import { located } from './element.js';
import { type Budget, budget, type TabPort } from './tab-port.js';

/** Beyond it Chrome’s picture of a page is cut or fails; a taller page is one that grows without end. */
const mostHeight = 16_384;
const mostPixels = 40_000_000;
const types = ['png', 'jpeg', 'webp'] as const;
const defaultQuality = 80;

export async function screenshot(port: TabPort, options: ScreenshotOptions = {}): Promise<Buffer> {
  const { of = 'viewport', type = 'png', quality = defaultQuality } = options;
  if (!types.includes(type)) {
    const expected = types.map((each) => `'${each}'`).join(', ');
    throw new MillraceError(
      'option-invalid',
      `option "type" of tab.screenshot: expected ${expected}, got ${describeValue(type)}`,
    );
  }
  const time = budget(options.timeout);
  const clip = await clipOf(port, of, time);
  const { data } = await port.call(
    'Page.captureScreenshot',
    {
      format: type,
      ...(type === 'png' ? {} : { quality }),
      ...(clip === null ? {} : { clip, captureBeyondViewport: true }),
      optimizeForSpeed: true,
    },
    time,
  );
  return Buffer.from(data, 'base64');
}

/** Null: what is in view. */
async function clipOf(
  port: TabPort,
  of: NonNullable<ScreenshotOptions['of']>,
  time: Budget,
): Promise<Protocol.Page.Viewport | null> {
  if (of === 'viewport') return null;
  if (of !== 'page') {
    const { selector } = of;
    const { x, y, width, height } = await located(
      port,
      { verb: 'screenshot', selector, state: 'visible' },
      time,
    );
    const scrolled = await port.script<{ x: number; y: number }>(
      '() => ({ x: scrollX, y: scrollY })',
      [],
      time,
    );
    return limited({ x: x - width / 2 + scrolled.x, y: y - height / 2 + scrolled.y, width, height });
  }
  const { cssContentSize } = await port.call('Page.getLayoutMetrics', undefined, time);
  return limited({ x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height });
}

function limited(box: Omit<Protocol.Page.Viewport, 'scale'>): Protocol.Page.Viewport {
  const width = Math.max(box.width, 1);
  const height = Math.max(Math.min(box.height, mostHeight, Math.floor(mostPixels / width)), 1);
  return { ...box, width, height, scale: 1 };
}

export async function pdf(port: TabPort, options: PdfOptions = {}): Promise<Buffer> {
  const { landscape = false, background = true, scale = 1, width, height, margin, pages } = options;
  const time = budget(options.timeout);
  const margins =
    margin === undefined
      ? {}
      : { marginTop: margin, marginRight: margin, marginBottom: margin, marginLeft: margin };
  const { stream } = await port.call(
    'Page.printToPDF',
    {
      transferMode: 'ReturnAsStream',
      landscape,
      printBackground: background,
      scale,
      ...(width === undefined ? {} : { paperWidth: width }),
      ...(height === undefined ? {} : { paperHeight: height }),
      preferCSSPageSize: width === undefined && height === undefined,
      ...margins,
      ...(pages === undefined ? {} : { pageRanges: pages }),
    },
    time,
  );
  return stream === undefined ? Buffer.alloc(0) : readStream(port, stream, time);
}

async function readStream(port: TabPort, handle: string, time: Budget): Promise<Buffer> {
  const parts: Buffer[] = [];
  try {
    for (;;) {
      const { data, base64Encoded = false, eof } = await port.call('IO.read', { handle }, time);
      parts.push(Buffer.from(data, base64Encoded ? 'base64' : 'utf8'));
      if (eof) return Buffer.concat(parts);
    }
  } finally {
    // The stream ends with the page at the latest.
    port.call('IO.close', { handle }, budget(undefined)).catch(() => undefined);
  }
}
