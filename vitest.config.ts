import { defineConfig } from 'vitest/config';

/** Need minutes, real servers or a package built for them; `vitest run --mode quick` leaves them out. */
const SLOW = ['test/{chaos,simulation,upgrade,packaging}/**'];

export default defineConfig(({ mode }) => {
  const isQuick = mode === 'quick';
  if (isQuick) process.env.MILLRACE_TEST_ENGINES = 'memory,sqlite';
  return {
    test: {
      include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
      exclude: ['**/node_modules/**', 'dist/**', ...(isQuick ? SLOW : [])],
      globalSetup: ['test/support/global-setup.ts'],
      reporters: ['default', './test/support/summary-reporter.ts'],
      pool: 'forks',
      // Two cores, shared with the database servers: more files at once only make the clocks of tests lie.
      maxWorkers: 2,
      testTimeout: 20_000,
      hookTimeout: 30_000,
      teardownTimeout: 60_000,
      passWithNoTests: false,
    },
  };
});
