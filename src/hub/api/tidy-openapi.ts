/*
 * The generator names each shape twice, as it is sent and as it is answered. Here every one that is not used goes, and
 * one that is used in one way alone has its plain name.
 */

interface Document {
  readonly paths?: object;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
}

const refPrefix = '#/components/schemas/';
const sent = 'Input';
const nothingSaid = 'Default Response';

/** The document without what nothing refers to. */
export function tidyOpenapi<Given extends object>(given: Given): Given {
  const { components, ...rest } = given as Document;
  const schemas = components?.schemas ?? {};
  const used = reachable(rest, schemas);
  const nameOf = (name: string): string => {
    const plain = name.endsWith(sent) ? name.slice(0, -sent.length) : name;
    return used.has(plain) && plain !== name ? name : plain;
  };
  const kept = [...used].sort().map((name) => [nameOf(name), schemas[name]] as const);
  const renamed = JSON.stringify({
    ...rest,
    components: { ...components, schemas: Object.fromEntries(kept) },
  }).replaceAll(/#\/components\/schemas\/(\w+)/g, (_all, name: string) => refPrefix + nameOf(name));
  const document = JSON.parse(renamed) as Given;
  describeAnswers(document as Document);
  return document;
}

function reachable(from: unknown, schemas: Readonly<Record<string, unknown>>): Set<string> {
  const used = new Set<string>();
  const waiting: unknown[] = [from];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [, name = ''] of JSON.stringify(next).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      if (used.has(name)) continue;
      used.add(name);
      if (schemas[name] !== undefined) waiting.push(schemas[name]);
    }
  }
  return used;
}

/** An answer is described by its shape, where nothing else was said. */
function describeAnswers({ paths = {}, components }: Document): void {
  for (const route of Object.values(paths).flatMap((path: object) => Object.values(path))) {
    const { responses = {} } = route as { responses?: Record<string, Answer> };
    for (const answer of Object.values(responses)) {
      if (answer.description !== nothingSaid) continue;
      const [content] = Object.values(answer.content ?? {});
      const name = content?.schema?.$ref?.slice(refPrefix.length) ?? '';
      const shape = components?.schemas?.[name] as { description?: string } | undefined;
      answer.description = shape?.description ?? 'Done.';
    }
  }
}

interface Answer {
  description?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
}
