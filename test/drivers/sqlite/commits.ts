import { readFileSync } from 'node:fs';

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * How many transactions stand in a -wal file, by its format: a frame that ends one says how many pages the database has
 * then (bytes 4–7), others say 0. Only frames with the salt of the file's header belong to it.
 */
export function commitsIn(walFile: string): number {
  const bytes = readFileSync(walFile);
  if (bytes.length < headerBytes) return 0;
  const frameBytes = frameHeaderBytes + bytes.readUInt32BE(8);
  let commits = 0;
  for (let at = headerBytes; at + frameBytes <= bytes.length; at += frameBytes) {
    if (bytes.readUInt32BE(at + 8) !== bytes.readUInt32BE(16)) break;
    if (bytes.readUInt32BE(at + 4) > 0) commits += 1;
  }
  return commits;
}
