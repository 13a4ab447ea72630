import { pagePolicy } from '../../auth/security-headers.js';
import type { ApiApp } from '../api-routes.js';
import { docsPage, docsScript, docsStyle } from '../docs-page.js';
import { needs } from '../route-role.js';

const config = needs('open');

/** The OpenAPI document, and a page that shows it. */
export function openapiRoutes(app: ApiApp): void {
  app.route({
    method: 'GET',
    url: '/openapi.json',
    config,
    schema: { hide: true },
    handler: () => app.swagger(),
  });
  const files = [
    { url: '/docs', type: 'text/html; charset=utf-8', text: docsPage },
    { url: '/docs/page.js', type: 'text/javascript; charset=utf-8', text: docsScript },
    { url: '/docs/page.css', type: 'text/css; charset=utf-8', text: docsStyle },
  ];
  for (const { url, type, text } of files) {
    app.route({
      method: 'GET',
      url,
      config,
      schema: { hide: true },
      handler: (_request, reply) =>
        reply.type(type).header('content-security-policy', pagePolicy).serializer(String).send(text),
    });
  }
}
