/** The HTTP shapes that stand under a name of their own in `/openapi.json`. Not zod's global registry: names there would clash with those of an application. */
import { z } from 'zod';

export const httpSchemas = z.registry<{ id: string; description?: string }>();

/** Gives a shape its name in the OpenAPI document. */
export function named<Schema extends z.ZodType>(id: string, description: string, schema: Schema): Schema {
  httpSchemas.add(schema, { id, description });
  return schema;
}
