/*
 * Keeps what the browser received, as it received it: the bytes of a response are asked for the moment they are there, since
 * the next page takes them along. Nothing is fetched a second time, and what could not be had is named with its reason. Bytes
 * that are the same are kept once. At most four are on their way at a time.
 *
 * Frames of other sites and workers have sessions of their own, whose responses are not seen here.
 */
import { createHash } from 'node:crypto';
import { describeFailure } from '../../internal/failure.js';
import type { CdpClient } from '../browser-job.js';
import type { CaptureAssets } from './capture-options.js';
import type { CapturedAsset } from './capture-result.js';
import type { CaptureSink } from './capture-sink.js';
import type { LedgerEntry } from './page-ledger.js';

const atOnce = 4;
const mostAssets = 2_000;
const bodyMs = 15_000;
const schemes = /^https?:/;

export class AssetKeeper {
  readonly #cdp: CdpClient;
  readonly #sink: CaptureSink;
  readonly #limits: Required<CaptureAssets>;
  readonly #assets: CapturedAsset[] = [];
  readonly #names = new Map<string, string>();
  readonly #waiting: LedgerEntry[] = [];
  readonly #running = new Set<Promise<void>>();
  #seen = 0;
  #keptBytes = 0;

  constructor(cdp: CdpClient, sink: CaptureSink, limits: Required<CaptureAssets>) {
    this.#cdp = cdp;
    this.#sink = sink;
    this.#limits = limits;
  }

  /** The bytes of this response are there. */
  take(entry: LedgerEntry): void {
    if (!schemes.test(entry.url) || !this.#limits.kinds.includes(entry.kind.toLowerCase() as never)) return;
    this.#seen += 1;
    if (this.#seen > mostAssets) return;
    this.#waiting.push(entry);
    this.#next();
  }

  /** When all that was taken is kept or given up. */
  async end(): Promise<{ assets: readonly CapturedAsset[]; left: number }> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    return { assets: this.#assets, left: Math.max(0, this.#seen - mostAssets) };
  }

  #next(): void {
    while (this.#running.size < atOnce) {
      const entry = this.#waiting.shift();
      if (entry === undefined) return;
      const run = this.#keep(entry).finally(() => {
        this.#running.delete(run);
        this.#next();
      });
      this.#running.add(run);
    }
  }

  async #keep({ requestId, url, kind, type, status }: LedgerEntry): Promise<void> {
    const about = { url, kind: kind.toLowerCase(), type, status };
    const missing = (why: string, sizeBytes: number | null = null): void =>
      void this.#assets.push({ ...about, name: null, sizeBytes, sha256: null, missing: why });
    try {
      const bytes = await this.#body(requestId);
      const { minBytes, maxBytes, maxTotalBytes } = this.#limits;
      if (bytes.length < minBytes) return;
      if (bytes.length > maxBytes) return missing(`larger than ${maxBytes} bytes`, bytes.length);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const known = this.#names.get(sha256);
      if (known === undefined && this.#keptBytes + bytes.length > maxTotalBytes)
        return missing(`all assets together would be larger than ${maxTotalBytes} bytes`, bytes.length);
      const name = known ?? nameOf(url, sha256, type);
      if (known === undefined) {
        this.#names.set(sha256, name);
        this.#keptBytes += bytes.length;
        await this.#sink.put(name, bytes, type);
      }
      this.#assets.push({ ...about, name, sizeBytes: bytes.length, sha256, missing: null });
    } catch (error) {
      missing(describeFailure(error).message);
    }
  }

  async #body(requestId: string): Promise<Buffer> {
    const { body, base64Encoded } = await this.#cdp.send<{ body: string; base64Encoded: boolean }>(
      'Network.getResponseBody',
      { requestId },
      { timeout: bodyMs },
    );
    return Buffer.from(body, base64Encoded ? 'base64' : 'utf8');
  }
}

const letters = /[^A-Za-z0-9._-]+/g;
const mostLetters = 60;

/** By its bytes and by the end of its address: `asset-1f3a9c21b0de-logo.png`. */
function nameOf(url: string, sha256: string, type: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  const base = last.replaceAll(letters, '-').slice(-mostLetters);
  const ending = base.includes('.') ? '' : `.${(type.split('/')[1] ?? 'bin').replaceAll(letters, '-')}`;
  return `asset-${sha256.slice(0, 12)}${base === '' ? '' : `-${base}`}${ending}`;
}
