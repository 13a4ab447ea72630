/*
 * Pictures of the longest documents, taken by the built-in job `page.capture` in a Chrome of the worker. The pages are files, so
 * they are served on this machine while that lasts. A picture that is there is not taken again.
 */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pageCapture } from 'millrace';
import { escapeHtml } from './escape-html.js';
import { type Document, library, type Package } from './library.js';
import { galleryFile, galleryFolder, gallerySize, outputFolder } from './places.js';
import { writeFileWhole } from './write-file-whole.js';

const captureTimeout = '60s';

/** Serves the pages of documents by their numbers, and nothing else. */
export class PageServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #pages: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const page = this.#pages[Number(request.url?.slice(1))];
      if (page === undefined) return void response.writeHead(404).end();
      response.setHeader('content-type', 'text/html; charset=utf-8');
      pipeline(createReadStream(join(outputFolder, page)), response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<PageServer> {
    const pages = new PageServer();
    await new Promise<void>((resolve) => pages.#server.listen(0, '127.0.0.1', resolve));
    return pages;
  }

  /** Host and port, as `BROWSER_PRIVATE_TARGETS` takes them. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Its address. */
  add(page: string): string {
    return `http://${this.host}/${this.#pages.push(page) - 1}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

/** Answers with a line about it; null: there is nothing to show. */
export async function hangGallery(packages: readonly Package[], pages: PageServer): Promise<string | null> {
  const longest = packages
    .flatMap(({ documents }) => documents)
    .toSorted((a, b) => b.words - a.words)
    .slice(0, gallerySize);
  if (longest.length === 0) return null;
  const missing = longest.filter((document) => !existsSync(pictureOf(document)));
  if (missing.length > 0 && !(await hasChrome()))
    return 'no gallery: this machine has no Chrome (millrace doctor says how to get one)';
  await mkdir(galleryFolder, { recursive: true });
  const startedAt = performance.now();
  const failures = (await Promise.all(missing.map((document) => takePicture(document, pages)))).filter(
    (failure) => failure !== null,
  );
  await writeFileWhole(
    galleryFile,
    galleryPage(longest.filter((document) => existsSync(pictureOf(document)))),
  );
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const took =
    missing.length === 0 ? 'all were there' : `${missing.length - failures.length} taken in ${seconds} s`;
  const failed = failures.length === 0 ? '' : `; ${failures.length} could not be taken: ${failures[0]}`;
  return `pictures of the ${longest.length} longest documents (${took}${failed}): ${galleryFile}`;
}

/** Of the same content there is one picture: the name of a page has its hash. */
const pictureOf = ({ page }: Document): string => join(galleryFolder, `${basename(page, '.html')}.webp`);

/** Whether the worker has found one, as it tells in its registration. */
async function hasChrome(): Promise<boolean> {
  const workers = await library.workers();
  return workers.some(({ lanes }) =>
    lanes.some(({ kind, state }) => kind === 'browser' && state !== 'quarantined'),
  );
}

/** Why it could not be taken; null: it was. */
async function takePicture(document: Document, pages: PageServer): Promise<string | null> {
  const handle = await library.dispatch(
    pageCapture,
    {
      url: pages.add(document.page),
      screenshot: { of: 'viewport', type: 'webp' },
      ...{ html: false, text: false, links: false, scroll: false },
    },
    { queue: 'gallery', attempts: 2 },
  );
  try {
    await handle.result({ timeout: captureTimeout });
    const [picture] = await library.files(handle.id);
    const opened = picture === undefined ? null : await library.file(picture.id);
    if (opened === null) return 'its file is not there';
    await pipeline(
      Readable.from(opened.content, { objectMode: false }),
      createWriteStream(pictureOf(document)),
    );
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function galleryPage(documents: readonly Document[]): string {
  const pictures = documents.map((document) => {
    const { page, title, words } = document;
    const href = page.split('/').map(encodeURIComponent).join('/');
    const picture = `gallery/${encodeURIComponent(basename(pictureOf(document)))}`;
    return `<figure><a href="${escapeHtml(href)}"><img src="${escapeHtml(picture)}" width="640" height="400" alt=""></a>
<figcaption>${escapeHtml(title)} (${words} words)</figcaption></figure>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Gallery</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self'">
<style>body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem } figure { display: inline-block; margin: 1rem; width: 320px; vertical-align: top }
img { width: 320px; height: auto; border: 1px solid #ddd; border-radius: 6px }</style></head>
<body><h1>Gallery</h1>
${pictures.join('\n')}
</body></html>
`;
}
