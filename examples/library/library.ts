import { readFile } from 'node:fs/promises';
import { defineJob, type JobContext, Millrace, NonRetriable } from 'millrace';
import { writeDocumentPage } from './document-page.js';
import { writeIndexPage } from './index-page.js';
import { type DocumentFacts, parseMarkdown } from './parse-markdown.js';
import { database, filesFolder } from './places.js';

/** One Markdown file. `hash` is that of its content, so that a changed file is another job. */
export interface DocumentInput {
  readonly package: string;
  readonly path: string;
  /** Relative to its package. */
  readonly name: string;
  readonly hash: string;
}

export interface Document extends DocumentFacts {
  readonly package: string;
  readonly name: string;
  /** Relative to the index page. */
  readonly page: string;
}

export interface PackageInput {
  readonly package: string;
  readonly documentIds: readonly string[];
}

export interface Package {
  readonly package: string;
  readonly documents: readonly Document[];
  /** Files that are none, with the reason. */
  readonly unreadable: readonly string[];
  readonly words: number;
  readonly headings: number;
  readonly links: number;
  readonly codeBlocks: number;
}

export interface IndexInput {
  readonly version: string;
  readonly packageIds: readonly string[];
}

export interface IndexFacts {
  readonly packages: number;
}

/** Reads one document, measures it and renders it. */
export const readDocument = defineJob('read-document', {
  attempts: 3,
  timeout: '30s',
  retention: '365d',
  async run({ input, log }: JobContext<DocumentInput>): Promise<Document> {
    const text = await readText(input);
    const { html, ...facts } = parseMarkdown(text, input.name);
    const page = await writeDocumentPage({ ...input, title: facts.title, html });
    log.debug(`${facts.words} words`);
    return { ...facts, package: input.package, name: input.name, page };
  },
});

/** A folder or a link to nothing will not become a file by trying again, so its job is buried at once. */
async function readText({ path, package: packageName, name }: DocumentInput): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const file = `${packageName}/${name}`;
    if (code === 'EISDIR') throw new NonRetriable(`${file} is a folder, not a file`);
    if (code === 'ENOENT') throw new NonRetriable(`${file} is a link that points to nothing`);
    if (code === 'ELOOP') throw new NonRetriable(`${file} is a link that points to itself`);
    throw error;
  }
}

/** Adds up the documents of a package, once each of them was read or given up. */
export const catalogPackage = defineJob('catalog-package', {
  retention: '365d',
  async run({ input }: JobContext<PackageInput>): Promise<Package> {
    const jobs = await Promise.all(input.documentIds.map((id) => library.job(id)));
    const documents = jobs.flatMap((job) => (job?.status === 'completed' ? [job.result as Document] : []));
    const unreadable = jobs.flatMap((job) =>
      job?.status === 'buried' ? [job.failures.at(-1)?.error.message ?? `job ${job.id} was buried`] : [],
    );
    const sum = (count: (document: Document) => number): number =>
      documents.reduce((total, document) => total + count(document), 0);
    return {
      package: input.package,
      documents,
      unreadable,
      words: sum(({ words }) => words),
      headings: sum(({ headings }) => headings),
      links: sum(({ links }) => links),
      codeBlocks: sum(({ codeBlocks }) => codeBlocks),
    };
  },
});

/** Writes the page that lists everything, once all packages are done. */
export const writeIndex = defineJob('write-index', {
  retention: '365d',
  async run({ input }: JobContext<IndexInput>): Promise<IndexFacts> {
    const packages = await packagesOf(input.packageIds);
    await writeIndexPage(packages, input.version);
    return { packages: packages.length };
  },
});

export async function packagesOf(ids: readonly string[]): Promise<Package[]> {
  const jobs = await Promise.all(ids.map((id) => library.job(id)));
  return jobs.flatMap((job) => (job?.status === 'completed' ? [job.result as Package] : []));
}

export const jobs = [readDocument, catalogPackage, writeIndex];

/** Short leases: after a crash of this one process, the next run soon has its jobs back. */
export const library: Millrace = new Millrace({
  database,
  jobs,
  files: filesFolder,
  heartbeat: '1s',
  staleTimeout: '3s',
});
