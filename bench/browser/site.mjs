/* A local site for crawlers: READMEs of the packages that are installed here, rendered, and some pages that are heavy. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { marked } from 'marked';

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const longestReadme = 200_000;
const videoBytes = 50 * 1024 ** 2;
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const images = `<!doctype html><title>200 images</title>${Array.from(
  { length: 200 },
  (_, index) => `<img loading=eager width=40 height=40 src=/picture/${index}.png>`,
).join('')}`;
const video = '<!doctype html><title>Video</title><video preload=auto src=/video.mp4></video>';
const endless = `<!doctype html><title>Endless</title><div id=list></div><script>
const more = () => { for (let i = 0; i < 50; i += 1) list.append(Object.assign(document.createElement('p'), { textContent: 'line ' + i })); };
more(); addEventListener('scroll', more); setInterval(() => scrollBy(0, 2000), 50);
</script>`;

/** Pictures of other sites, as badges are: what a network does is nothing to measure. */
const elsewhere = /(<(?:img|source|video|iframe|script)\b[^>]*?\ssrc(?:set)?=["'])[^"']*/gi;

function readmes() {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.') && !name.startsWith('@'))
    .sort()
    .flatMap((name) => {
      try {
        const file = `${modules}${name}/README.md`;
        if (statSync(file).size > longestReadme) return [];
        const html = marked
          .parse(readFileSync(file, 'utf8'), { async: false })
          .replace(elsewhere, '$1/picture/readme.png');
        return [[`/${name}`, `<!doctype html><meta charset=utf-8><title>${name}</title>${html}`]];
      } catch {
        // No README of that name, or none that can be rendered.
        return [];
      }
    });
}

/** @returns {Promise<{ pages: string[], heavy: string[], close(): void }>} addresses of its pages */
export async function openSite() {
  const pages = new Map(readmes());
  const heavy = new Map([
    ['/heavy/images', images],
    ['/heavy/video', video],
    ['/heavy/endless', endless],
  ]);
  const server = createServer((request, response) => {
    const { url = '/' } = request;
    const page = pages.get(url) ?? heavy.get(url);
    if (page !== undefined) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page);
    } else if (url.startsWith('/picture/')) {
      response.writeHead(200, { 'content-type': 'image/png', 'cache-control': 'no-store' });
      response.end(picture);
    } else if (url === '/video.mp4') {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': videoBytes });
      response.end(Buffer.alloc(videoBytes));
    } else {
      response.writeHead(404);
      response.end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const under = (paths) => [...paths.keys()].map((path) => origin + path);
  return {
    pages: under(pages),
    heavy: under(heavy),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
