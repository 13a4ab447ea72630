import { readFile } from 'node:fs/promises';
import { escapeHtml } from './escape-html.js';
import type { Document, Package } from './library.js';
import { pageOf } from './page-style.js';
import { indexFile } from './places.js';
import { writeFileWhole } from './write-file-whole.js';

const number = new Intl.NumberFormat('en');

export async function writeIndexPage(packages: readonly Package[], version: string): Promise<void> {
  const head = `<meta name="library-version" content="${escapeHtml(version)}">\n`;
  await writeFileWhole(indexFile, pageOf('Library', head, indexBody(packages)));
}

/** The version of what the index page shows; null when there is none. */
export async function writtenVersion(): Promise<string | null> {
  try {
    const text = await readFile(indexFile, 'utf8');
    return /<meta name="library-version" content="([^"]*)">/.exec(text)?.[1] ?? null;
  } catch {
    // The first run, or somebody deleted it: it will be written.
    return null;
  }
}

function indexBody(packages: readonly Package[]): string {
  const sorted = packages.toSorted((a, b) => b.words - a.words || a.package.localeCompare(b.package));
  const total = (count: (each: Package) => number): string =>
    number.format(packages.reduce((sum, each) => sum + count(each), 0));
  const totals = [
    [total(({ documents }) => documents.length), 'documents'],
    [number.format(packages.length), 'packages'],
    [total(({ words }) => words), 'words'],
    [total(({ links }) => links), 'links'],
    [total(({ codeBlocks }) => codeBlocks), 'code blocks'],
  ];
  return `<h1>Library</h1>
<p class="soft">What the installed packages have written about themselves.</p>
<ul class="totals">${totals.map(([count, what]) => `<li><b>${count}</b>${what}</li>`).join('')}</ul>
${unreadableNotice(packages)}
${sorted.map(packageSection).join('\n')}`;
}

function unreadableNotice(packages: readonly Package[]): string {
  const reasons = packages.flatMap(({ unreadable }) => unreadable);
  if (reasons.length === 0) return '';
  return `<div class="notice"><b>Not files that can be read</b>
<ul>${reasons.map((reason) => `<li>${escapeHtml(reason)}</li>`).join('')}</ul></div>`;
}

function packageSection({ package: name, documents, words }: Package): string {
  const count = `${documents.length} ${documents.length === 1 ? 'document' : 'documents'}`;
  return `<details><summary><b>${escapeHtml(name)}</b><span class="soft">${count}, ${number.format(words)} words</span></summary>
<div class="scroll"><table>
<tr><th>Document</th><th>Title</th><th class="n">Words</th><th class="n">Headings</th><th class="n">Links</th><th class="n">Code</th></tr>
${documents.map(documentRow).join('\n')}
</table></div></details>`;
}

function documentRow({ name, title, page, words, headings, links, codeBlocks }: Document): string {
  const href = page.split('/').map(encodeURIComponent).join('/');
  const numbers = [words, headings, links, codeBlocks].map(
    (count) => `<td class="n">${number.format(count)}</td>`,
  );
  return `<tr><td><a href="${escapeHtml(href)}">${escapeHtml(name)}</a></td><td>${escapeHtml(title)}</td>${numbers.join('')}</tr>`;
}
