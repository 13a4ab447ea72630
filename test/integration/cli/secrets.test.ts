import { expect, test } from 'vitest';
import { project } from './project.js';

const secret = 's3cr3t';

test('the password of the database shows in the output of no command, whatever goes wrong', async () => {
  await using here = await project(null);
  const addresses = [
    `postgres://user:${secret}-P%40ss@127.0.0.1:1/db`,
    `mysql://user:${secret}@127.0.0.1:1/db`,
    `postgres:user:${secret}@127.0.0.1/db`,
  ];
  const commands = [
    ['settings'],
    ['settings', '--json'],
    ['doctor', '--json'],
    ['status', '--debug'],
    ['migrate', '--debug'],
  ];
  for (const MILLRACE_DATABASE of addresses) {
    const runs = await Promise.all(
      commands.map((args) => here.run(args, { env: { MILLRACE_DATABASE, MILLRACE_LOG_LEVEL: 'debug' } })),
    );
    for (const { stdout, stderr } of runs) {
      expect(stdout + stderr).not.toBe('');
      expect(stdout + stderr).not.toContain(secret);
    }
  }
});
