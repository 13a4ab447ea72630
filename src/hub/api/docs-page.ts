/** The page at `/docs`: reads `/openapi.json` and shows it. Files of their own, so that no policy has to allow inline code. */

export const docsPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace HTTP API</title>
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header><h1>Millrace HTTP API</h1><p id="about"></p><p><a href="/openapi.json">openapi.json</a></p></header>
<main id="routes"><p>Loading …</p></main>
<script src="/docs/page.js"></script>
</body>
</html>
`;

export const docsStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
details { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; display: flex; gap: .8rem; align-items: baseline; flex-wrap: wrap; }
.method { font: 600 .85rem ui-monospace, monospace; min-width: 4rem; }
.path, code, pre { font-family: ui-monospace, monospace; }
.note { opacity: .75; }
pre { overflow-x: auto; background: color-mix(in srgb, currentColor 8%, transparent); padding: .6rem; border-radius: 4px; font-size: .85rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; }
`;

/** Everything from the document goes in as text, never as markup. */
export const docsScript = `'use strict';
function el(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}
function nameOf(ref) { return ref.slice(ref.lastIndexOf('/') + 1); }
function sketch(schema, spec, depth) {
  if (!schema || depth > 6) return '…';
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return depth > 1 ? name : sketch(spec.components.schemas[name], spec, depth);
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  const any = schema.anyOf || schema.oneOf;
  if (any) return any.map((one) => sketch(one, spec, depth + 1)).join(' | ');
  if (schema.type === 'array') return 'list of ' + sketch(schema.items, spec, depth + 1);
  if (schema.type === 'object' && schema.properties) {
    const pad = '  '.repeat(depth + 1);
    const required = schema.required || [];
    const lines = Object.entries(schema.properties).map(([key, one]) => {
      const note = one.description ? '  // ' + one.description : '';
      return pad + key + (required.includes(key) ? '' : '?') + ': ' + sketch(one, spec, depth + 1) + note;
    });
    return '{\\n' + lines.join('\\n') + '\\n' + '  '.repeat(depth) + '}';
  }
  return schema.type || 'anything';
}
function shapeOf(content, spec) {
  const first = Object.entries(content || {})[0];
  if (!first) return null;
  const box = el('div');
  box.append(el('p', first[0], 'note'), el('pre', sketch(first[1].schema, spec, 0)));
  return box;
}
function section(title, body) {
  const box = el('section');
  box.append(el('h4', title));
  if (body) box.append(body);
  return box;
}
function showRoute(path, method, route, spec) {
  const box = el('details');
  const head = el('summary');
  head.append(el('span', method.toUpperCase(), 'method'), el('span', path, 'path'), el('span', route.summary || '', 'note'));
  box.append(head);
  if (route.description) box.append(el('p', route.description));
  const parameters = route.parameters || [];
  if (parameters.length > 0) {
    const table = el('table');
    for (const one of parameters) {
      const row = el('tr');
      row.append(el('td', one.name + (one.required ? '' : '?')), el('td', one.in), el('td', sketch(one.schema, spec, 2)), el('td', one.description || (one.schema && one.schema.description) || ''));
      table.append(row);
    }
    box.append(section('Parameters', table));
  }
  if (route.requestBody) box.append(section('Body', shapeOf(route.requestBody.content, spec)));
  for (const [status, answer] of Object.entries(route.responses || {})) {
    const isProblem = Number(status) >= 400;
    box.append(section(status + (answer.description ? ': ' + answer.description : ''), isProblem ? null : shapeOf(answer.content, spec)));
  }
  return box;
}
fetch('/openapi.json').then((answer) => answer.json()).then((spec) => {
  document.getElementById('about').textContent = 'Version ' + spec.info.version + '. ' + spec.info.description;
  const main = document.getElementById('routes');
  main.replaceChildren();
  for (const tag of spec.tags || []) {
    main.append(el('h2', tag.name));
    for (const [path, methods] of Object.entries(spec.paths)) {
      for (const [method, route] of Object.entries(methods)) {
        if ((route.tags || [])[0] === tag.name) main.append(showRoute(path, method, route, spec));
      }
    }
  }
}).catch((error) => {
  document.getElementById('routes').textContent = 'The document could not be read: ' + error;
});
`;
