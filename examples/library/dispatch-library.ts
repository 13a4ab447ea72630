import { createHash } from 'node:crypto';
import type { JobHandle } from 'millrace';
import { writtenVersion } from './index-page.js';
import {
  catalogPackage,
  type DocumentInput,
  type IndexFacts,
  library,
  readDocument,
  writeIndex,
} from './library.js';

export interface Dispatched {
  readonly documentIds: readonly string[];
  readonly packageIds: readonly string[];
  /** How many jobs there had not been before. */
  readonly created: number;
  /** Null: the index page already shows exactly this. */
  readonly index: JobHandle<IndexFacts> | null;
}

/**
 * One job per document, one per package that waits for its documents, one that waits for all packages. The keys make the
 * same content the same job: what was done in an earlier run is not done again.
 */
export async function dispatchLibrary(documents: readonly DocumentInput[]): Promise<Dispatched> {
  const documentJobs = await library.dispatchMany(
    documents.map((input) => ({
      job: readDocument,
      input,
      options: { idempotencyKey: `${input.path} ${input.hash}` },
    })),
  );
  const idsByPackage = new Map<string, string[]>();
  documents.forEach((document, index) => {
    const ids = idsByPackage.get(document.package) ?? [];
    idsByPackage.set(document.package, [...ids, documentJobs[index]?.id ?? '']);
  });
  const packageJobs = await library.dispatchMany(
    [...idsByPackage].map(([name, documentIds]) => ({
      job: catalogPackage,
      input: { package: name, documentIds },
      options: {
        idempotencyKey: `${name} ${hashOf(documentIds)}`,
        // A document that can't be read is part of the picture.
        after: { jobs: documentIds, onFailure: 'run' as const },
      },
    })),
  );
  const packageIds = packageJobs.map(({ id }) => id);
  const index = await dispatchIndex(packageIds);
  const all = [...documentJobs, ...packageJobs, ...(index === null ? [] : [index])];
  return {
    documentIds: documentJobs.map(({ id }) => id),
    packageIds,
    created: all.filter(({ deduplicated }) => !deduplicated).length,
    index,
  };
}

async function dispatchIndex(packageIds: readonly string[]): Promise<JobHandle<IndexFacts> | null> {
  const version = hashOf(packageIds);
  if ((await writtenVersion()) === version) return null;
  return await library.dispatch(
    writeIndex,
    { version, packageIds },
    { unique: { key: version }, after: { jobs: packageIds, onFailure: 'run' } },
  );
}

function hashOf(ids: readonly string[]): string {
  return createHash('sha256').update(ids.join(' ')).digest('hex');
}
