import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { ApiDeps } from '../../../src/hub/api/api-deps.js';
import { apiServerOptions } from '../../../src/hub/api/problems.js';
import { registerApi } from '../../../src/hub/api/register-api.js';
import { createLineLogger } from '../../../src/internal/logger.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { openEngine, type TestEngine } from '../../support/engines.js';

export const greet = defineJob('greet', {
  input: z.object({ name: z.string().min(1) }),
  run: ({ input }) => `Hello ${input.name}`,
});
export const fail = defineJob('fail', {
  attempts: 1,
  run: () => {
    throw new TypeError('no way');
  },
});
/** Runs until it is asked to stop. */
export const hang = defineJob('hang', {
  run: ({ signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    }),
});
export const steps = defineJob('steps', {
  input: z.object({ count: z.number().int() }),
  run({ input, progress, log }) {
    for (let step = 1; step <= input.count; step += 1) {
      log.info(`step ${step}`);
      progress(step, input.count);
    }
    return input.count;
  },
});

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer it then checks
  readonly body: any;
}

export interface ApiStage extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly client: Millrace;
  readonly app: FastifyInstance;
  readonly url: string;
  /** Lines of the log. */
  readonly lines: readonly string[];
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

interface StageOptions extends Partial<Omit<ApiDeps, 'client' | 'logger'>> {
  readonly jobs?: readonly JobDefinition[];
  /** Folder for files. */
  readonly files?: string;
}

/** The API on a real socket. */
export async function openApi(
  name: Engine,
  { jobs = [greet, fail, steps, hang], files, ...rest }: StageOptions = {},
): Promise<ApiStage> {
  const engine = await openEngine(name);
  const lines: string[] = [];
  const logger = createLineLogger({ write: (line) => lines.push(line) });
  const client: Millrace = new Millrace({ database: engine.storage, jobs, files, dispatchTimeout: '5s' });
  const app = fastify(apiServerOptions(logger));
  await registerApi(app, { client, logger, ...rest });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    engine,
    client,
    app,
    url,
    lines,
    call: (method, path, body, headers) => call(`${url}${path}`, method, { body, headers }),
    async [Symbol.asyncDispose]() {
      app.server.closeAllConnections();
      await app.close();
      await client.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

async function call(
  url: string,
  method: string,
  { body, headers }: { body: unknown; headers: Record<string, string> | undefined },
): Promise<Answer> {
  const writes = method !== 'GET' && method !== 'DELETE';
  const answer = await fetch(url, {
    method,
    headers: { ...(writes ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  const type = answer.headers.get('content-type') ?? '';
  return {
    status: answer.status,
    type,
    headers: answer.headers,
    body: /\bjson\b/.test(type) && text !== '' ? JSON.parse(text) : text,
  };
}

/** Runs what is due until nothing is left. */
export async function work(client: Millrace): Promise<void> {
  await using worker = client.worker({ queues: ['default', 'other'], concurrency: 5 });
  await worker.start();
  await worker.idle();
}
