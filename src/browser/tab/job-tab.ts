import type {
  GotoOptions,
  NewCookie,
  PdfOptions,
  ScreenshotOptions,
  ScrollTarget,
  Tab,
  TabCondition,
  TabCookie,
  TabLanding,
  TabLink,
  TabOptions,
} from '../../client/browser-tab.js';
import { click, fill, press, scroll, select } from './act.js';
import { goto } from './goto.js';
import { pdf, screenshot } from './picture.js';
import { evaluate, html, links, text, title, url } from './read.js';
import { budget, type TabPort } from './tab-port.js';
import { wait } from './wait.js';

/** The verbs, on the page of one job; each is a function of its own over a port, for others that have one. */
export class JobTab implements Tab {
  readonly #port: TabPort;

  constructor(port: TabPort) {
    this.#port = port;
  }

  goto(address: string, options?: GotoOptions): Promise<TabLanding> {
    return goto(this.#port, address, options);
  }

  url(): Promise<string> {
    return url(this.#port);
  }

  title(): Promise<string> {
    return title(this.#port);
  }

  html(): Promise<string> {
    return html(this.#port);
  }

  text(selector?: string): Promise<string> {
    return text(this.#port, selector);
  }

  links(): Promise<TabLink[]> {
    return links(this.#port);
  }

  async evaluate<Result>(code: unknown, second?: unknown, third?: TabOptions): Promise<Result> {
    const given =
      typeof code === 'string'
        ? { options: second as TabOptions | undefined }
        : { argument: second, options: third };
    return (await evaluate(this.#port, code, given)) as Result;
  }

  click(selector: string, options?: TabOptions): Promise<void> {
    return click(this.#port, selector, options);
  }

  fill(selector: string, value: string, options?: TabOptions): Promise<void> {
    return fill(this.#port, { selector, value }, options);
  }

  press(key: string, options?: TabOptions & { readonly selector?: string }): Promise<void> {
    return press(this.#port, key, options);
  }

  scroll(to: ScrollTarget, options?: TabOptions): Promise<void> {
    return scroll(this.#port, to, options);
  }

  select(selector: string, values: string | readonly string[], options?: TabOptions): Promise<void> {
    return select(this.#port, { selector, values }, options);
  }

  wait(condition: TabCondition, options?: TabOptions): Promise<void> {
    return wait(this.#port, condition, options);
  }

  screenshot(options?: ScreenshotOptions): Promise<Buffer> {
    return screenshot(this.#port, options);
  }

  pdf(options?: PdfOptions): Promise<Buffer> {
    return pdf(this.#port, options);
  }

  async cookies(): Promise<TabCookie[]> {
    const { cookies } = await this.#port.call('Network.getCookies', {}, budget(undefined));
    return cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => ({
      ...{ name, value, domain, path, httpOnly, secure },
      ...(expires < 0 ? {} : { expires }),
      ...(sameSite === undefined ? {} : { sameSite }),
    }));
  }

  async setCookies(cookies: readonly NewCookie[]): Promise<void> {
    await this.#port.call('Network.setCookies', { cookies: [...cookies] }, budget(undefined));
  }
}
