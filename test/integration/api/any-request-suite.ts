import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemShape } from '../../../src/protocol/http/problem-shape.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable } from '../../support/engines.js';
import { testSeed } from '../../support/test-seed.js';
import { type ApiStage, openApi } from './api-stage.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly body: Schema | undefined;
  readonly parameters: readonly { name: string; in: string; schema: Schema }[];
}

/** A tick with a generous budget is right, and takes its time; streams and waits are for other tests. */
const slow: ReadonlySet<string> = new Set(['/tick', '/jobs/{id}/events']);

async function routesOf(at: ApiStage): Promise<{ routes: Route[]; schemas: Record<string, Schema> }> {
  const { body: spec } = await at.call('GET', '/openapi.json');
  const routes = Object.entries(spec.paths as Record<string, Record<string, never>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(
        ([method, route]: [string, { requestBody?: never; parameters?: never }]) => ({
          method: method.toUpperCase(),
          path,
          body: (route.requestBody as { content?: Record<string, { schema?: Schema }> } | undefined)
            ?.content?.['application/json']?.schema,
          parameters: route.parameters ?? [],
        }),
      ),
  );
  return { routes: routes.filter(({ path }) => !slow.has(path)), schemas: spec.components.schemas };
}

const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    null,
    '',
    '\0',
    '\ud800',
    -1,
    1e308,
    0.5,
    [],
    {},
    true,
    'x'.repeat(5_000),
    '0'.repeat(40),
    2 ** 53,
  ),
);

/** Values that fit a schema, nearly fit it, or don't. */
function near(schema: Schema | undefined, schemas: Record<string, Schema>, depth = 0): fc.Arbitrary<unknown> {
  if (schema === undefined || depth > 4) return junk;
  if (schema.$ref !== undefined)
    return near(schemas[schema.$ref.split('/').at(-1) ?? ''], schemas, depth + 1);
  const own = fitting(schema, schemas, depth);
  return fc.oneof({ weight: 5, arbitrary: own }, { weight: 1, arbitrary: junk });
}

function fitting(schema: Schema, schemas: Record<string, Schema>, depth: number): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    return fc.oneof(...schema.anyOf.map((each) => near(each, schemas, depth + 1)));
  }
  switch ([schema.type].flat()[0]) {
    case 'string':
      return fc.oneof(
        fc.constantFrom('default', 'greet', '5m', '2h', '2030-01-31T08:00:00Z', 'a b', ''),
        fc.uuid(),
        fc.string({ unit: 'binary', maxLength: 30 }),
      );
    case 'number':
    case 'integer':
      return fc.oneof(fc.integer({ min: -5, max: 1_200 }), fc.double());
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(near(schema.items, schemas, depth + 1), { maxLength: 4 });
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([key, each]) => [key, near(each, schemas, depth + 1)]),
        ),
        { requiredKeys: [] },
      );
    default:
      return junk;
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const part = fc.oneof(
  fc.uuid(),
  fc.constantFrom(
    'default',
    'w-1',
    'many',
    '%00',
    '%ff',
    '..',
    '.',
    '%2e%2e%2f',
    'a%20b',
    `${'9'.repeat(300)}`,
  ),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
);

/** One request to a route, with its address. */
function requestTo({ method, path, body, parameters }: Route, schemas: Record<string, Schema>) {
  const names = path.match(/\{\w+\}/g) ?? [];
  const query = parameters.filter((each) => each.in === 'query');
  return fc.record({
    method: fc.constant(method),
    path: fc
      .tuple(...names.map(() => part))
      .map((parts) => names.reduce((text, name, index) => text.replace(name, parts[index] ?? ''), path)),
    query: fc.record(
      Object.fromEntries(
        [...query, { name: 'other', schema: {} }].map(({ name, schema }) => [
          name,
          near(schema, schemas).map(asText),
        ]),
      ),
      { requiredKeys: [] },
    ),
    body: body === undefined ? fc.constant(undefined) : near(body, schemas),
    key: fc.option(
      fc.string({ unit: 'grapheme-ascii', maxLength: 40 }).map((text) => text.trim()),
      { nil: undefined },
    ),
  });
}

/** No request is answered with a 500, on every engine: what a database refuses is found before. */
export function anyRequestSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] http: any request`, () => {
    it('random JSON against every route gives no 500, and every refusal is a problem', async () => {
      await using at = await openApi(name);
      const { routes, schemas } = await routesOf(at);
      expect(routes.length).toBeGreaterThan(25);
      const seen = new Map<string, Set<number>>();
      const any = fc
        .constantFrom(...routes)
        .chain((route) => requestTo(route, schemas).map((request) => ({ route, ...request })));
      await fc.assert(
        fc.asyncProperty(any, async ({ route, method, path, query, body, key }) => {
          const search = new URLSearchParams(query as Record<string, string>)
            .toString()
            .replace(/wait=[^&]*/g, 'wait=0s');
          const headers = key === undefined ? {} : { 'idempotency-key': key };
          const answer = await at.call(
            method,
            `${path}${search === '' ? '' : `?${search}`}`,
            method === 'DELETE' ? undefined : body,
            headers,
          );
          const called = `${route.method} ${route.path}`;
          seen.set(called, (seen.get(called) ?? new Set()).add(answer.status));
          expect(
            answer.status,
            `${called} ${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`,
          ).toBeLessThan(500);
          if (answer.status >= 400) problemShape.parse(answer.body);
        }),
        { numRuns: 1_200, seed: testSeed(), interruptAfterTimeLimit: 60_000 },
      );
      // It reaches behind the checks of shapes: most routes also answer well.
      expect(
        [...seen.values()].filter((statuses) => [200, 201, 404].some((good) => statuses.has(good))).length,
      ).toBeGreaterThan(20);
      expect((await at.call('GET', '/readyz')).status).toBe(200);
      expect(at.lines.filter((line) => line.includes('a request failed'))).toEqual([]);
    }, 120_000);
  });
}
