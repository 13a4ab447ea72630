import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Millrace } from '../../../src/index.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const start = fileURLToPath(new URL('../../../examples/library/start.mjs', import.meta.url));
const deadlineMs = 110_000;
/** A note, a folder and a dangling link, which the example lays on its desk itself. */
const onTheDesk = 3;

interface Run {
  readonly code: number | null;
  readonly text: string;
}

class Library implements AsyncDisposable {
  readonly #folder = tempDir('library');
  readonly output: string = this.#folder.file('output');
  readonly packages: string = this.#folder.file('node_modules');
  readonly #children: ChildProcess[] = [];

  /** Documents of made-up packages, some with a scope, some nested. */
  async write(documents: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(documents)) {
      const file = join(this.packages, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  }

  start(env: Record<string, string> = { LIBRARY_PACKAGES: this.packages }): {
    child: ChildProcess;
    ended: Promise<Run>;
  } {
    const child = spawn(process.execPath, [start], {
      env: { ...process.env, LIBRARY_OUTPUT: this.output, LIBRARY_GALLERY: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    this.#children.push(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
    }
    const ended = new Promise<Run>((resolve) => child.on('close', (code) => resolve({ code, text })));
    return { child, ended };
  }

  run(env?: Record<string, string>): Promise<Run> {
    return this.start(env).ended;
  }

  /** Waits until so many pages were written. */
  async hasPages(count: number): Promise<void> {
    const pages = join(this.output, 'pages');
    const written = (): number =>
      existsSync(pages)
        ? readdirSync(pages, { recursive: true }).filter((name) => String(name).endsWith('.html')).length
        : 0;
    await waitFor(() => written() >= count, {
      describe: () => `${count} pages, there are ${written()}`,
      deadlineMs: 60_000,
      intervalMs: 2,
    });
  }

  /** What the database of the example knows. */
  async look(): Promise<{ completed: number; buried: number; open: number; workers: number }> {
    await using client = new Millrace({ database: `sqlite:${join(this.output, 'library.db')}` });
    const { completed, buried, pending, blocked, processing } = await client.stats('default');
    return {
      completed,
      buried,
      open: pending + blocked + processing,
      workers: (await client.workers()).length,
    };
  }

  index(): Promise<string> {
    return readFile(join(this.output, 'index.html'), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) if (child.exitCode === null) child.kill('SIGKILL');
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** Long enough that a run can be met in the middle. */
function manyDocuments(count: number): Record<string, string> {
  const paragraph =
    '## A part\n\nWords with a [link](https://example.com) and `code`.\n\n```js\nx();\n```\n\n'.repeat(40);
  const entries = Array.from({ length: count }, (_, index) => [
    `p${index % 20}/docs/d${index}.md`,
    `# Document ${index}\n\n${paragraph}`,
  ]);
  return Object.fromEntries(entries);
}

describe('[sqlite] the library', { timeout: 240_000 }, () => {
  test('reads every document, shows what can’t be read as what it is, and does nothing twice', async () => {
    await using library = new Library();
    await library.write({
      'plain/README.md': '# Plain\n\nTwo words, [one link](https://example.com).\n\n```\ncode\n```\n',
      'plain/node_modules/inner/README.md': 'No heading at all',
      '@scope/name/README.md': '# Scoped',
      '@scope/name/docs/GUIDE.MD': '# Guide',
      'hostile/README.md':
        '# <script>alert(1)</script> & "quotes"\n\n<p align="center"><img src=x alt="a & b" onerror=alert(1)></p>\n\n[x](javascript:alert(1))\n\n## Part\n\n[down](#part)',
      'plain/index.js': 'not a document',
    });
    const first = await library.run();
    expect(first.text).toContain(`${5 + onTheDesk} documents`);
    expect(first.text).toContain('desk/x.md is a folder, not a file');
    expect(first.text).toContain('desk/lost.md is a link that points to nothing');
    expect(first.text).toMatch(/14 jobs in [\d.]+ s .*p50 \d+ ms, p95 \d+ ms/);
    expect(first.code).toBe(0);
    // 6 of 8 documents, 5 packages with the desk, the index.
    expect(await library.look()).toMatchObject({ completed: 12, buried: 2, open: 0, workers: 1 });
    const page = await library.index();
    for (const name of ['plain', 'inner', '@scope/name', 'hostile', 'desk'])
      expect(page).toContain(`<b>${name}</b>`);
    expect(page).toContain('&amp; &quot;quotes&quot;');
    expect(page).not.toMatch(/<script|<img|javascript:/);
    const hostile = readdirSync(join(library.output, 'pages/hostile'))[0] ?? '';
    const hostilePage = await readFile(join(library.output, 'pages/hostile', hostile), 'utf8');
    expect(hostilePage).not.toMatch(/<script|<img|onerror|href="javascript:/);
    expect(hostilePage).toContain('<span class="image">a &amp; b</span>');
    expect(hostilePage).toContain('<h2 id="part">Part</h2>');
    expect(hostilePage).toContain('href="#part"');

    const second = await library.run();
    expect(second).toMatchObject({ code: 0 });
    expect(second.text).toContain('nothing has changed');
    expect(second.text).toContain('desk/x.md is a folder');
    // No worker was even started.
    expect(await library.look()).toMatchObject({ completed: 12, buried: 2, open: 0, workers: 1 });
  });

  test('a changed document costs its own job, its package and the index; changed back, only the index', async () => {
    await using library = new Library();
    await library.write({ 'a/README.md': '# Before', 'a/other.md': '# Other', 'b/README.md': '# B' });
    expect((await library.run()).code).toBe(0);
    await library.write({ 'a/README.md': '# After' });
    const changed = await library.run();
    expect(changed.text).toContain('3 new jobs, 3 to run');
    expect(await library.index()).toContain('After');
    await library.write({ 'a/README.md': '# Before' });
    const back = await library.run();
    expect(back.text).toContain('1 new job, 1 to run');
    expect(await library.index()).toContain('Before');
    expect(await library.index()).not.toContain('After');
  });

  test('a run that was killed is completed by the next one', async () => {
    await using library = new Library();
    await library.write(manyDocuments(300));
    const killed = library.start();
    await library.hasPages(30);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const before = await library.look();
    expect(before.open).toBeGreaterThan(0);

    const next = await library.run();
    expect(next.code, next.text).toBe(0);
    expect(await library.look()).toMatchObject({ completed: 300 + 1 + 21 + 1, buried: 2, open: 0 });
    expect(await library.index()).toContain('<b>301</b>documents');
  });

  test('Ctrl-C ends it soon, and the next run goes on from there', async () => {
    await using library = new Library();
    await library.write(manyDocuments(300));
    const stopped = library.start();
    await library.hasPages(30);
    stopped.child.kill('SIGINT');
    const { code, text } = await stopped.ended;
    expect(text).toContain('start it again and it goes on from here');
    expect(code).toBe(130);
    const before = await library.look();
    expect(before.open).toBeGreaterThan(0);

    const next = await library.run();
    expect(next.text).toContain(`0 new jobs, ${before.open} to run`);
    expect(await library.look()).toMatchObject({ completed: 300 + 1 + 21 + 1, buried: 2, open: 0 });
  });

  test('it runs on what is really installed', async () => {
    await using library = new Library();
    const { code, text } = await library.run({ LIBRARY_GALLERY: '3' });
    expect(code, text).toBe(0);
    expect(text).toMatch(/pictures of the 3 longest documents \(3 taken in/);
    const pictures = readdirSync(join(library.output, 'gallery'));
    expect(pictures.length).toBe(3);
    for (const picture of pictures)
      expect((await readFile(join(library.output, 'gallery', picture))).subarray(8, 12).toString()).toBe(
        'WEBP',
      );
    const { completed, buried, open } = await library.look();
    expect({ buried, open }).toEqual({ buried: 2, open: 0 });
    expect(completed).toBeGreaterThan(100);
    expect(await library.index()).toContain('<b>vitest</b>');
  });
});
