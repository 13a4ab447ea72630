import { expect, it } from 'vitest';
import { laneExecArgv } from './exec-argv.js';

it('the flags of a lane are those that load code, and a heap below its ceiling', () => {
  const given = [
    '--inspect=9229',
    '--import',
    'tsx',
    '--cpu-prof',
    '-r=./a.cjs',
    '--max-old-space-size=9000',
    '-C',
    'dev',
  ];
  expect(laneExecArgv(given, 512 * 1024 ** 2)).toEqual([
    '--import',
    'tsx',
    '-r=./a.cjs',
    '-C',
    'dev',
    '--max-old-space-size=384',
  ]);
});
