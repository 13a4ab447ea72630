import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { packagedChrome, withLibraries } from '../../../src/browser/chrome/packaged-chrome.js';
import { probeChrome } from '../../../src/browser/chrome/sandbox.js';
import { tempDir } from '../../support/temp.js';

const version = '147.0.0';
const { signal } = new AbortController();
afterEach(() => void vi.unstubAllEnvs());

test('the Chrome of npm is unpacked once and whole, also where one before has died over it', {
  timeout: 60_000,
}, async () => {
  await using cache = tempDir('cache');
  vi.stubEnv('XDG_CACHE_HOME', cache.path);
  const folder = cache.file('millrace');
  await mkdir(cache.file('millrace', `chromium-${version}.999999`), { recursive: true });
  const lock = cache.file('millrace', `chromium-${version}.lock`);
  await writeFile(lock, '');
  await utimes(lock, 1, 1);
  const [first, second] = await Promise.all([packagedChrome(signal), packagedChrome(signal)]);
  expect(second).toEqual(first);
  expect(await readdir(folder)).toEqual([`chromium-${version}`]);
  if (first === null) throw new Error('@sparticuz/chromium is not installed, or not for this machine');
  // With its own libraries, as on a machine that has none.
  expect(await probeChrome(withLibraries(first))).toMatchObject({
    product: expect.stringMatching(/^HeadlessChrome\/147\./),
    isShell: true,
  });
});

test('a Chrome that crashes at its first start is tried again', async () => {
  await using folder = tempDir('chrome');
  const real = await packagedChrome(signal);
  if (real === null) throw new Error('@sparticuz/chromium is not installed, or not for this machine');
  const flaky = folder.file('chrome');
  const crash = `case "$*" in *--no-sandbox*) [ -e ${flaky}.once ] || { touch ${flaky}.once; kill -SEGV $$; };; *) exit 1;; esac`;
  await writeFile(flaky, `#!/bin/sh\n${crash}\nexec ${real.executable} "$@"\n`, { mode: 0o755 });
  const probe = await probeChrome({ ...withLibraries(real), executable: flaky });
  expect(probe).toMatchObject({ hasSandbox: false, product: expect.stringContaining('Chrome/') });
});

test('what is no Chrome is told with what it did', async () => {
  await using folder = tempDir('chrome');
  const fake = folder.file('chrome');
  await writeFile(
    fake,
    '#!/bin/sh\necho "libnss3.so: error while loading shared libraries" >&2\nexit 127\n',
    {
      mode: 0o755,
    },
  );
  const probe = await probeChrome({ executable: fake, source: 'CHROME_PATH', libraries: null });
  expect(probe).toEqual({
    failure: expect.stringMatching(/: libnss3\.so: error while loading shared libraries$/),
  });
});
