import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { openApi } from './api-stage.js';
import { expectProblem } from './jobs-suite.js';

const run = promisify(execFile);

/** Sends what no client would, and gives the answer as text. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer to ${text.slice(0, 80)}`)));
    socket.on('data', (part) => {
      answer += part.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.write(text);
  });
}

describe('[memory] http: requests', () => {
  it('what has no route is a problem: 404, or 405 with what is allowed', async () => {
    await using at = await openApi('memory');
    for (const path of [
      '/',
      '/nothing',
      '/jobs/a/b/c',
      '/workflows',
      '/recordings',
      '/schedules',
      '/%00',
      '/..%2f..%2fetc/passwd',
    ]) {
      expectProblem(await at.call('GET', path), 404, 'route-unknown');
    }
    for (const [method, path, allow] of [
      ['DELETE', '/jobs', 'GET, HEAD, POST'],
      ['PUT', '/jobs/x', 'DELETE, GET, HEAD, PATCH'],
      ['POST', '/healthz', 'GET, HEAD'],
      ['OPTIONS', '/jobs', 'GET, HEAD, POST'],
    ] as const) {
      const answer = await at.call(method, path);
      expectProblem(answer, 405, 'method-not-allowed');
      expect(answer.headers.get('allow')).toBe(allow);
    }
    expectProblem(await at.call('GET', `/jobs/${'%'.repeat(3)}`), 400, 'request-invalid');
  });

  it('a write that is not declared as JSON is a 415, also without a body', async () => {
    await using at = await openApi('memory');
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      '',
    ]) {
      for (const path of ['/jobs', '/queues/default/pause', '/tick']) {
        const answer = await fetch(`${at.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': type },
          body: '{}',
        });
        expect([type, path, answer.status]).toEqual([type, path, 415]);
        expect(((await answer.json()) as { code: string }).code).toBe('content-type-unsupported');
      }
    }
    const bare = await raw(
      Number(new URL(at.url).port),
      'POST /queues/default/pause HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(bare).toMatch(/^HTTP\/1.1 415 /);
  });

  it('a body that is no JSON is a 400, one over 2 MB a 413, a payload over 1 MB too', async () => {
    await using at = await openApi('memory');
    for (const body of [
      '{',
      '{"name":"greet",}',
      'nonsense',
      '{"__proto__":{}}',
      '{"name":"greet","payload":{"constructor":{"prototype":{}}}}',
    ]) {
      const answer = await at.call('POST', '/jobs', body);
      expectProblem(answer, 400, 'request-invalid');
    }
    const large = { name: 'greet', payload: { name: 'x'.repeat(2 * 1024 ** 2) } };
    expectProblem(await at.call('POST', '/jobs', large), 413, 'request-too-large');
    const tooLarge = { name: 'greet', payload: { name: 'x'.repeat(1024 ** 2 + 1) } };
    expectProblem(await at.call('POST', '/jobs', tooLarge), 413, 'payload-too-large');
    const many = { jobs: Array.from({ length: 1_001 }, () => ({ name: 'greet', payload: { name: 'a' } })) };
    expectProblem(await at.call('POST', '/jobs/many', many), 422, 'request-invalid');
    const deep = `{"name":"steps","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect((await at.call('POST', '/jobs', deep)).status).toBe(422);
  });

  it('the one line that operators know counts the active workers', async () => {
    await using at = await openApi('memory');
    await using one = at.client.worker({ queues: ['nothing'] });
    await using two = at.client.worker({ queues: ['nothing'] });
    await one.start();
    await two.start();
    await at.call('PATCH', `/workers/${two.id}`, { adminState: 'drain' });
    const line = `curl -s ${at.url.replace('http://', '')}/workers | python3 -c "import sys,json;w=json.load(sys.stdin).get('workers',[]);print('active',sum(1 for x in w if (x.get('status')or x.get('state'))=='active'),'/ total',len(w))"`;
    const { stdout } = await run('sh', ['-c', line]);
    expect(stdout.trim()).toBe('active 1 / total 2');
  });

  it('healthz tells that the process lives and more, readyz asks the database', async () => {
    await using at = await openApi('memory', { health: () => ({ connections: 3 }) });
    const health = await at.call('GET', '/healthz');
    expect([health.status, health.body.status, health.body.details]).toEqual([200, 'ok', { connections: 3 }]);
    expect((await at.call('GET', '/readyz')).body).toEqual({ status: 'ready' });
    await at.client.close();
    const closed = await at.call('GET', '/readyz');
    expectProblem(closed, 503, 'closed');
    expect(Number(closed.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await at.call('GET', '/healthz')).status).toBe(200);
    expectProblem(await at.call('POST', '/jobs', { name: 'greet', payload: { name: 'A' } }), 503, 'closed');
  });

  it('shows itself: openapi.json is 3.1 and /docs reads it', async () => {
    await using at = await openApi('memory');
    const { body } = await at.call('GET', '/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    expect(Object.keys(body.paths)).toContain('/jobs/{id}/events');
    const page = await at.call('GET', '/docs');
    expect(page.type).toBe('text/html; charset=utf-8');
    for (const [, file = ''] of page.body.matchAll(/(?:href|src)="(\/[^"]+)"/g)) {
      expect([file, (await at.call('GET', file)).status]).toEqual([file, 200]);
    }
    expect(page.body).not.toMatch(/<script>|<style>|onclick/);
  });

  it('what ends half-way or makes no sense as HTTP disturbs nobody', async () => {
    await using at = await openApi('memory');
    const port = Number(new URL(at.url).port);
    const half = connect(port, '127.0.0.1');
    half.on('error', () => undefined);
    half.write(
      'POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"na',
    );
    await waitFor(() => half.bytesWritten > 0, { describe: 'the half request to be sent' });
    half.destroy();
    expect(await raw(port, 'NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431 /,
    );
    expect((await at.call('GET', '/healthz')).status).toBe(200);
  });
});
