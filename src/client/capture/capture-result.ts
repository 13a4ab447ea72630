/** A file that a capture has kept. */
export interface CapturedFile {
  /** Of a file that is kept with its job. */
  readonly id?: string;
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly sizeBytes: number;
  /** Of its bytes, 64 hex digits. */
  readonly sha256: string;
}

/** Something that went wrong while the rest was kept. */
export interface CaptureProblem {
  /** What it was to be: `wait`, `steps`, `html`, `text`, `links`, `screenshot`, `pdf`, `assets`. */
  readonly part: string;
  readonly code: string;
  readonly message: string;
}

export interface CaptureResult {
  /** As it was asked for. */
  readonly url: string;
  /** After redirects. */
  readonly finalUrl: string;
  /** Of the document; null where it came without HTTP. */
  readonly status: number | null;
  /** The addresses it came by, the first one first; empty: none. At most 20. */
  readonly redirects: readonly string[];
  readonly title: string;
  /** Of the document, as it says. */
  readonly language: string | null;
  /** Contents of its `meta` by their names and properties, at most 50; with `canonical` where it has one. */
  readonly meta: Readonly<Record<string, string>>;
  /** What ended the wait; see `tab.goto`. */
  readonly endedBy: 'domcontentloaded' | 'load' | 'quiet' | 'limit';
  /** In ms: until the page was there, and until all was kept. */
  readonly timings: { readonly loadedMs: number; readonly totalMs: number };
  /** Errors that the page wrote to its console or threw, at most 50 of 500 letters. */
  readonly consoleErrors: readonly string[];
  /** `bytes`: as they came over the wire. */
  readonly counts: {
    readonly requests: number;
    readonly failed: number;
    readonly bytes: number;
    readonly assets: number;
  };
  /** Whether something that was asked for is missing: see `problems`. */
  readonly partial: boolean;
  readonly problems: readonly CaptureProblem[];
  readonly files: readonly CapturedFile[];
}

/** One line of `assets.json`. */
export interface CapturedAsset {
  /** Of the file; null where its bytes were not kept. */
  readonly name: string | null;
  /** Where the page had it from. */
  readonly url: string;
  readonly kind: string;
  readonly type: string;
  readonly status: number;
  readonly sizeBytes: number | null;
  readonly sha256: string | null;
  /** Why its bytes were not kept. */
  readonly missing: string | null;
}
