/** Flags of a process that say how modules are found and run; their values may stand in the next argument. */
const kept = [
  '--import',
  '--loader',
  '--experimental-loader',
  '--require',
  '-r',
  '--conditions',
  '-C',
  '--preserve-symlinks',
  '--preserve-symlinks-main',
  '--enable-source-maps',
  '--no-warnings',
  '--experimental-strip-types',
  '--experimental-transform-types',
  '--no-experimental-strip-types',
  '--disable-warning',
];
const withValue = new Set([
  '--import',
  '--loader',
  '--experimental-loader',
  '--require',
  '-r',
  '--conditions',
  '-C',
  '--disable-warning',
]);
/** Of the ceiling; the rest is for buffers, code and what Node itself takes, so that a heap ends with its own message. */
const heapShare = 0.75;
const megabyte = 1024 ** 2;

/**
 * The flags of a lane's child: those of the worker that say how code is loaded, never those of a debugger, a profiler or a
 * test runner; and a heap that fits below the ceiling.
 */
export function laneExecArgv(execArgv: readonly string[], maxMemoryBytes: number): string[] {
  const own: string[] = [];
  for (let index = 0; index < execArgv.length; index += 1) {
    const argument = execArgv[index] as string;
    const [flag = ''] = argument.split('=', 1);
    if (!kept.includes(flag)) continue;
    own.push(argument);
    const next = execArgv[index + 1];
    if (withValue.has(flag) && !argument.includes('=') && next !== undefined) {
      own.push(next);
      index += 1;
    }
  }
  return [...own, `--max-old-space-size=${Math.floor((maxMemoryBytes * heapShare) / megabyte)}`];
}
