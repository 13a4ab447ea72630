import Database from 'better-sqlite3';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { type EngineLabel, summarize, type TestOutcome } from './engine-summary.js';
import { currentRun, type ServerEngine } from './servers.js';

/** Ends a run with a count per engine and, as the very last line, `N passed, N failed`. */
export default class SummaryReporter implements Reporter {
  private tests: TestOutcome[] = [];
  private otherFailures = 0;
  private hasEnded = false;

  onInit(): void {
    // Teardown still speaks after the last test, so the last word is said when the process ends.
    process.once('exit', () => {
      // A process that ran out of work before its tests were over would otherwise count as a success.
      if (!this.hasEnded) process.exitCode ||= 1;
      const hasFailed = this.otherFailures > 0 || this.tests.some(({ state }) => state === 'failed');
      // A set-up or clean-up that failed shows only in the exit code.
      const otherFailures = this.otherFailures + (process.exitCode && !hasFailed ? 1 : 0);
      const lines = summarize({ tests: this.tests, otherFailures, engines: engineLabels() });
      process.stdout.write(`\n${lines.join('\n')}\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.hasEnded = true;
    this.tests = modules.flatMap(outcomesOf);
    this.otherFailures = unhandledErrors.length + modules.filter(hasErrorOfItsOwn).length;
  }
}

function outcomesOf(module: TestModule): TestOutcome[] {
  return [...module.children.allTests()].map((test) => {
    const { state } = test.result();
    const name = `${module.relativeModuleId} > ${test.fullName}`;
    return { name, state: state === 'pending' ? 'failed' : state };
  });
}

/** A file that does not load, or a hook that failed: its tests may not even be known. */
function hasErrorOfItsOwn(module: TestModule): boolean {
  const suites = [...module.children.allSuites()];
  return module.errors().length > 0 || suites.some((suite) => suite.errors().length > 0);
}

function engineLabels(): EngineLabel[] {
  return [
    { tag: 'memory', label: 'memory' },
    { tag: 'sqlite', label: `SQLite ${sqliteVersion()}` },
    serverLabel('postgres', 'PostgreSQL'),
    serverLabel('mysql', 'MySQL/MariaDB'),
    serverLabel('mysql8', 'MySQL 8'),
  ];
}

function serverLabel(tag: ServerEngine, product: string): EngineLabel {
  const server = currentRun()?.servers[tag];
  if (!server) return { tag, label: product, absence: 'left out of this run' };
  if ('missing' in server) return { tag, label: product, absence: server.missing };
  return { tag, label: `${server.version} (${server.source})` };
}

function sqliteVersion(): string {
  const database = new Database(':memory:');
  try {
    return String(database.prepare('select sqlite_version()').pluck().get());
  } finally {
    database.close();
  }
}
