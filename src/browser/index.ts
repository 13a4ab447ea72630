import { describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import { PrivateTargets } from '../internal/private-targets.js';
import type { BrowserKind } from '../worker/lanes/browser-kind.js';
import type { UsableChrome } from './chrome/sandbox.js';
import { type ChromeSearch, describeChrome, usableChrome } from './chrome/usable-chrome.js';
import { browserLaneSource } from './lane/browser-lane-source.js';
import { ChromeSupply } from './lane/chrome-supply.js';
import { TargetPolicy } from './net/target-policy.js';

/** What one lane needs with ordinary pages; idle it is a fifth of that, of full Chrome a third [measured]. */
const shellBytes = 700 * 1024 ** 2;
const fullBytes = 1000 * 1024 ** 2;
/** For a search after the start, which holds up nobody but its lane. */
const searchMs = 120_000;

/** What a worker loads where it is asked for browser lanes. */
export const browserKind: BrowserKind = {
  async prepare({ chromePath, privateTargets, hubs, logger, signal }) {
    const search = async (within: AbortSignal): Promise<ChromeSearch> =>
      await usableChrome(chromePath, within).catch(
        (error: unknown): ChromeSearch => ({ chrome: null, failures: [describeFailure(error).message] }),
      );
    const found = await search(signal);
    const supply = new ChromeSupply({
      found,
      search: () => search(AbortSignal.timeout(searchMs)),
      onFound: (chrome) => tell(chrome, logger),
    });
    if (found.chrome !== null) tell(found.chrome, logger);
    return {
      perLaneBytes: found.chrome?.isShell === false ? fullBytes : shellBytes,
      source: (size) => browserLaneSource({ size, supply, policy: policyOf(privateTargets, hubs) }),
    };
  },
};

/** The setting has been checked before. */
function policyOf(privateTargets: string, hubs: readonly string[]): TargetPolicy {
  return new TargetPolicy({
    privateTargets: PrivateTargets.parse(privateTargets) ?? PrivateTargets.none,
    closed: hubs.map((url) => {
      const { hostname, port, protocol } = new URL(url);
      return { host: hostname, port: port === '' ? (protocol === 'wss:' ? 443 : 80) : Number(port) };
    }),
  });
}

function tell(chrome: UsableChrome, logger: Logger): void {
  logger.info(`browser lanes: ${describeChrome(chrome)}`);
  if (chrome.hasSandbox) return;
  logger.warn(
    'browser lanes: Chrome runs without its sandbox, which it can’t have here. Run the worker as another user than root, on a kernel or with a container profile that allows user namespaces',
  );
}
