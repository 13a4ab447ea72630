/** What a Chrome of a lane is started with. */
export interface ChromeFlagOptions {
  /** The folder of its profile, absolute. */
  readonly profile: string;
  /** False where it can't start with one; see `sandbox.ts`. */
  readonly hasSandbox: boolean;
  /** /dev/shm holds less than 1 GB, as in a container: then pages crash that need more. */
  readonly hasSmallShm: boolean;
  /** All of its traffic goes through it, as in `socks5://127.0.0.1:4711`; null: none does, which only what opens no page has. */
  readonly proxy: string | null;
}

/**
 * Never here: `--single-process`, `--no-zygote`, `--disable-web-security`, `--ignore-certificate-errors`, and whatever turns
 * site isolation off: a page and a frame of another site must not share a process. Blocking of pop-ups stays on.
 */
const always: readonly string[] = [
  '--headless',
  '--remote-debugging-pipe',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-client-side-phishing-detection',
  '--disable-domain-reliability',
  '--disable-hang-monitor',
  '--disable-prompt-on-repost',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-ipc-flooding-protection',
  '--disable-back-forward-cache',
  '--disable-features=Translate,OptimizationHints,MediaRouter,AcceptCHFrame,PaintHolding,DestroyProfileOnBrowserClose',
  '--disable-search-engine-choice-screen',
  '--metrics-recording-only',
  '--mute-audio',
  '--hide-scrollbars',
  '--force-color-profile=srgb',
  '--password-store=basic',
  '--use-mock-keychain',
  '--disk-cache-size=67108864',
  '--js-flags=--max-old-space-size=1024',
  '--disable-gpu',
  '--disable-quic',
  // Else a page learns addresses of this machine by WebRTC, past every proxy.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
];

export function chromeFlags({ profile, hasSandbox, hasSmallShm, proxy }: ChromeFlagOptions): string[] {
  return [
    ...always,
    `--user-data-dir=${profile}`,
    ...(hasSandbox ? [] : ['--no-sandbox']),
    ...(hasSmallShm ? ['--disable-dev-shm-usage'] : []),
    // Chrome goes past a proxy to this machine and to link-local addresses, unless told not to.
    ...(proxy === null ? [] : [`--proxy-server=${proxy}`, '--proxy-bypass-list=<-loopback>']),
    'about:blank',
  ];
}
