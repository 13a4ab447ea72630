/** The messages of the worker link in the words of PROTOCOL.md, read off the schemas that both ends check with. */
import { z } from 'zod';
import { hubMessage } from '../../src/protocol/hub-messages.js';
import * as shapes from '../../src/protocol/job-shapes.js';
import { workerMessage, workerStatus } from '../../src/protocol/worker-messages.js';

export interface FieldTerm {
  /** `[]` follows what is a list, `?` what may be left out; a dot leads into it. */
  readonly field: string;
  readonly type: string;
}

export interface Term {
  readonly name: string;
  readonly fields: readonly FieldTerm[];
}

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly pattern?: string;
}

const { storableText: _, ...jobShapes } = shapes;
const named = { ...jobShapes, workerStatus };

const registry = z.registry<{ id: string }>();
for (const [id, shape] of Object.entries(named)) registry.add(shape, { id });

const readSchema = (schema: z.ZodType): JsonSchema => {
  const whole = z.toJSONSchema(schema, { metadata: registry }) as JsonSchema & {
    readonly $defs?: Readonly<Record<string, JsonSchema>>;
  };
  const own = registry.get(schema)?.id;
  return own === undefined ? whole : (whole.$defs?.[own] ?? whole);
};

const isUnbounded = (value: number | undefined): boolean =>
  value === undefined || Math.abs(value) === Number.MAX_SAFE_INTEGER;

function spellRange(least: number | undefined, most: number | undefined): string {
  if (isUnbounded(least) && isUnbounded(most)) return '';
  if (isUnbounded(most)) return ` ≥ ${spellNumber(least)}`;
  return isUnbounded(least) ? ` ≤ ${spellNumber(most)}` : ` ${spellNumber(least)} … ${spellNumber(most)}`;
}

const spellNumber = (value: number | undefined): string => (value ?? 0).toLocaleString('en');

const spellValue = (value: unknown): string =>
  `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** The type of a field, in one cell of a table. */
function spellType(schema: JsonSchema): string {
  if (Array.isArray(schema.type)) {
    return schema.type.map((type: string) => spellType({ ...schema, type })).join(' or ');
  }
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, '');
  if (schema.const !== undefined) return spellValue(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(spellValue).join(', ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(spellType).join(' or ');
  if (schema.type === 'array') {
    const range = spellRange(schema.minItems, schema.maxItems);
    return `list${range === '' ? '' : ` of${range}`}: ${spellType(schema.items ?? {})}`;
  }
  if (schema.format !== undefined) return schema.format;
  if (schema.pattern !== undefined) return `text, \`${schema.pattern}\``;
  if (schema.type === 'string') {
    const range = spellRange(schema.minLength, schema.maxLength);
    return range === '' ? 'text' : `text of${range}`;
  }
  if (schema.type === 'integer') {
    const least = schema.exclusiveMinimum === undefined ? schema.minimum : schema.exclusiveMinimum + 1;
    return `integer${spellRange(least, schema.maximum)}`;
  }
  if (schema.type === 'number') {
    if (schema.exclusiveMinimum !== undefined) return `number > ${schema.exclusiveMinimum}`;
    return `number${spellRange(schema.minimum, schema.maximum)}`;
  }
  if (schema.type === 'object' && schema.properties === undefined) return 'object';
  return typeof schema.type === 'string' ? schema.type : 'anything';
}

/** What stands inside, where that has no name of its own. */
function insideOf(schema: JsonSchema): { readonly suffix: string; readonly objects: readonly JsonSchema[] } {
  if (schema.type === 'array') {
    const { suffix, objects } = insideOf(schema.items ?? {});
    return { suffix: `[]${suffix}`, objects };
  }
  const choices = schema.anyOf ?? schema.oneOf ?? [schema];
  return { suffix: '', objects: choices.filter(({ properties }) => properties !== undefined) };
}

function fieldsOf(schema: JsonSchema, prefix = ''): FieldTerm[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const { suffix, objects } = insideOf(field);
    const path = `${prefix}${key}`;
    const mark = schema.required?.includes(key) === true ? '' : '?';
    const inside = objects.flatMap((object) => fieldsOf(object, `${path}${suffix}.`));
    return [{ field: `${path}${mark}`, type: spellType(field) }, ...inside];
  });
}

/** Fields of what comes in several kinds are told once each, with the kinds that have them. */
function mergeKinds(options: readonly JsonSchema[]): FieldTerm[] {
  const kinds = options.map(({ properties }) => properties?.['kind']?.const);
  const all = options.map((option) => fieldsOf(option).filter(({ field }) => field !== 'kind'));
  const merged = new Map<string, { term: FieldTerm; kinds: unknown[] }>();
  for (const [index, fields] of all.entries()) {
    for (const term of fields) {
      const key = `${term.field} ${term.type}`;
      const known = merged.get(key) ?? { term, kinds: [] };
      merged.set(key, { term, kinds: [...known.kinds, kinds[index]] });
    }
  }
  const rows = [...merged.values()].map(({ term, kinds: of }) => {
    const where = of.length === options.length ? '' : ` (${of.map(spellValue).join(', ')})`;
    return { field: term.field, type: `${term.type}${where}` };
  });
  return [{ field: 'kind', type: kinds.map(spellValue).join(', ') }, ...rows];
}

const isKindOfMessage = ({ field, type }: FieldTerm): boolean => field === 'type' && type.startsWith('`');

function describeSchema(name: string, schema: JsonSchema): Term {
  const options = schema.oneOf ?? schema.anyOf;
  if (options !== undefined) return { name, fields: mergeKinds(options) };
  if (schema.properties === undefined) return { name, fields: [{ field: name, type: spellType(schema) }] };
  return { name, fields: fieldsOf(schema).filter((term) => !isKindOfMessage(term)) };
}

const describeMessages = (options: readonly z.ZodType[]): Term[] =>
  options.map((option) => {
    const schema = readSchema(option);
    return describeSchema(String(schema.properties?.['type']?.const), schema);
  });

export const workerTerms = (): Term[] => describeMessages(workerMessage.options);
export const hubTerms = (): Term[] => describeMessages(hubMessage.options);
export const shapeTerms = (): Term[] =>
  Object.entries(named).map(([name, shape]) => describeSchema(name, readSchema(shape)));
