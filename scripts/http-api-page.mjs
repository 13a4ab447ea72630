/** Writes docs/reference/http-api.md out of the OpenAPI document of a hub. */

const refPrefix = '#/components/schemas/';

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll('\n', ' ');
}

function typeOf(schema) {
  if (schema === undefined || Object.keys(schema).length === 0) return 'anything';
  if (schema.$ref) {
    const name = schema.$ref.slice(refPrefix.length);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((each) => `\`${each}\``).join(' or ');
  const any = schema.anyOf ?? schema.oneOf;
  if (any?.length > 0) return [...new Set(any.map(typeOf))].join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items)}`;
  if (schema.type === 'object' && schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, each]) => `${name}: ${typeOf(each)}`);
    return `{ ${fields.join(', ')} }`;
  }
  const types = [schema.type ?? 'anything'].flat().join(' or ');
  return schema.format === 'date-time' ? 'time' : types;
}

function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`);
  return lines.join('\n');
}

function answersOf(responses) {
  const rows = Object.entries(responses).map(([status, { description, content }]) => {
    const [[type, { schema }] = ['', {}]] = Object.entries(content ?? {});
    const shape = type === 'application/json' ? typeOf(schema) : type;
    return [status, shape, description];
  });
  return table(['Status', 'Answer', 'Meaning'], rows);
}

function routeSection(path, method, route, role) {
  const parts = [
    `### ${method.toUpperCase()} ${path}`,
    `${route.summary}.${route.description ? ` ${route.description}` : ''} Role: ${role === 'open' ? 'none' : `\`${role}\``}.`,
  ];
  const parameters = route.parameters ?? [];
  if (parameters.length > 0) {
    const rows = parameters.map(({ name, in: where, required, schema, description }) => [
      `\`${name}\`${required ? '' : ' (optional)'}`,
      where,
      typeOf(schema),
      description ?? schema?.description ?? '',
    ]);
    parts.push(table(['Parameter', 'In', 'Type', 'Meaning'], rows));
  }
  const body = route.requestBody?.content?.['application/json']?.schema;
  if (body !== undefined) parts.push(`Body: ${typeOf(body)}`);
  parts.push(answersOf(route.responses));
  return parts.join('\n\n');
}

function shapeSection([name, schema]) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([field, each]) => [
    `\`${field}\`${required.has(field) ? '' : ' (optional)'}`,
    typeOf(each),
    each.description ?? '',
  ]);
  const fields = rows.length === 0 ? typeOf(schema) : table(['Field', 'Type', 'Meaning'], rows);
  return `### ${name}\n\n${schema.description ?? ''}\n\n${fields}`;
}

/** @param roles the role that each `METHOD /path` asks for */
export function httpApiPage(spec, roles, note) {
  const tags = spec.tags.map(({ name }) => {
    const routes = Object.entries(spec.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, route]) => route.tags?.[0] === name)
        .map(([method, route]) =>
          routeSection(path, method, route, roles.get(`${method.toUpperCase()} ${path}`) ?? 'admin'),
        ),
    );
    return `## Routes: ${name}\n\n${routes.join('\n\n')}`;
  });
  return `${note}

# HTTP API

What a hub answers, on port 8000 unless told otherwise. The same as OpenAPI 3.1 stands at \`/openapi.json\`, and as a page
at \`/docs\`. From TypeScript, \`new MillraceHttp({ url, token })\` has these calls with the types of your jobs.

- A token goes into the header \`Authorization: Bearer mr_…\`. \`submit\` may also do what \`read\` may, \`admin\` everything.
- Whatever changes something needs \`Content-Type: application/json\`, also without a body. A body has at most 2 MB.
- Every error is \`application/problem+json\`: see [Problem](#problem) and the [codes](errors.md). A 503 or 429 has the
  header \`Retry-After\`.
- Times are ISO 8601 texts of the database's clock. Lists are paged by \`cursor\`: pass \`next\` of the page before.

${tags.join('\n\n')}

## Shapes

${Object.entries(spec.components.schemas).map(shapeSection).join('\n\n')}
`;
}
