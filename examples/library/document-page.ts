import { join, posix } from 'node:path';
import { escapeHtml } from './escape-html.js';
import { pageOf } from './page-style.js';
import { outputFolder } from './places.js';
import { writeFileWhole } from './write-file-whole.js';

export interface DocumentPage {
  readonly package: string;
  readonly name: string;
  readonly hash: string;
  readonly title: string;
  readonly html: string;
}

/** Writes the page and answers with its path below the output. The hash is part of it: a page is never changed. */
export async function writeDocumentPage(document: DocumentPage): Promise<string> {
  const { package: packageName, name, hash, title, html } = document;
  const flatName = name.replace(/\.md$/i, '').replace(/[^\w.-]+/g, '_');
  const path = posix.join('pages', packageName, `${flatName}-${hash.slice(0, 10)}.html`);
  const up = '../'.repeat(path.split('/').length - 1);
  const body = `<p class="soft"><a href="${up}index.html">Library</a> / ${escapeHtml(packageName)} / ${escapeHtml(name)}</p>
<article>
${html}
</article>`;
  await writeFileWhole(join(outputFolder, path), pageOf(escapeHtml(title), '', body));
  return path;
}
