import { describe, expect, test } from 'vitest';
import { SERVER_ENGINES, serverAvailable, testDatabase } from '../../support/servers.js';
import { project } from './project.js';

describe.each(SERVER_ENGINES)('[%s] the commands on a server', (engine) => {
  test.skipIf(!serverAvailable(engine))('migrate, dispatch, flush and look', async () => {
    await using database = await testDatabase(engine);
    await using here = await project();
    const env = { MILLRACE_DATABASE: database.url };

    const early = await here.run(['status'], { env });
    expect(early).toMatchObject({ code: 1, stdout: '' });
    expect(early.stderr).toMatch(/millrace migrate.*\[schema-missing\]\n$/);
    expect((await here.run(['work'], { env })).code).toBe(75);

    expect((await here.run(['migrate'], { env })).code).toBe(0);
    expect((await here.run(['migrate', '--sql'], { env })).stdout).toMatch(/create table/i);
    for (const name of ['ok', 'fail']) await here.run(['dispatch', name], { env });
    const flushed = await here.run(['flush', '--json'], { env });
    expect(flushed.stderr).toMatch(/^\S+ error attempt failed, the job is buried .*it broke"\n$/);
    expect(flushed.json()).toMatchObject({ completed: 1, buried: 1 });
    const status = await here.run(['status', '--json'], { env });
    expect(status.json()).toMatchObject({ queues: [{ queue: 'default', completed: 1, buried: 1 }] });

    const doctor = await here.run(['doctor', '--json'], { env });
    const { checks } = doctor.json<{ checks: { check: string; status: string; message: string }[] }>();
    expect(doctor.code, JSON.stringify(checks)).toBe(0);
    const names = checks.map(({ check }) => check);
    for (const name of ['long transactions', 'connections', 'durability']) expect(names).toContain(name);
  });
});
