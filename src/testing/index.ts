export type { DispatchFilter } from './expectations.js';
export type { Fault } from './faulty-storage.js';
export type { RunOptions, TestKitOptions } from './kit-options.js';
export type { RecordedDispatch } from './kit-storage.js';
export type { Partly } from './partial-match.js';
export type { JobRun, RunOutcome, RunReport } from './run-report.js';
export { createTestKit, type TestKit } from './test-kit.js';
