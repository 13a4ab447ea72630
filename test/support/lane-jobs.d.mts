import type { JobDefinition } from '../../src/client/job-definition.js';

type Act = { do: string; [key: string]: unknown };

export const act: JobDefinition<'act', Act, Act, unknown>;
export const actBriefly: JobDefinition<'act-briefly', Act, Act, unknown>;
export const actSoon: JobDefinition<'act-soon', Act, Act, unknown>;
export const actInline: JobDefinition<'act-inline', Act, Act, unknown>;
