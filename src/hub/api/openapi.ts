import fastifySwagger from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { version } from '../../internal/version.js';
import { httpSchemas } from '../../protocol/http/schema-registry.js';
import type { ApiApp } from './api-routes.js';
import { tidyOpenapi } from './tidy-openapi.js';

/** Descriptions stand in zod's own registry, names in ours. */
const zodToJsonConfig = {
  override({
    zodSchema,
    jsonSchema,
  }: {
    zodSchema: z.core.$ZodType;
    jsonSchema: z.core.JSONSchema.BaseSchema;
  }) {
    const description = z.globalRegistry.get(zodSchema)?.description;
    if (description !== undefined) jsonSchema.description ??= description;
    // What may be anything says nothing, and nothing among alternatives would hide them.
    if (zodSchema._zod.def.type === 'union') {
      jsonSchema.anyOf = jsonSchema.anyOf?.filter((each) => Object.keys(each).length > 0) ?? [];
    }
  },
};

/** Gathers the routes that are made after it into the OpenAPI document. */
export async function gatherOpenapi(app: ApiApp): Promise<void> {
  const how = { schemaRegistry: httpSchemas, zodToJsonConfig };
  const toDocument = createJsonSchemaTransformObject(how);
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Millrace',
        version,
        description:
          'The HTTP API of a hub. Errors are problem+json with stable codes. Everything that changes something needs `Content-Type: application/json`. Times are of the database’s clock.',
      },
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description:
              'A token of the role that the route asks for. A hub without tokens answers on loopback alone.',
          },
        },
      },
      tags: ['Jobs', 'Queues', 'Workers', 'System'].map((name) => ({ name })),
    },
    transform: createJsonSchemaTransform(how),
    transformObject: (document) => tidyOpenapi(toDocument(document)),
  });
}
