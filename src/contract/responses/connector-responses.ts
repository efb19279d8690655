import * as z from 'zod';
import { pageOf } from './response-parts.ts';

const anyObject = z.record(z.string(), z.unknown());

const OPERATION = z
  .object({
    name: z.string(),
    description: z.string(),
    tier: z.enum(['basic', 'standard']),
    paging: z.string(),
    input_schema: anyObject.meta({ description: 'JSON Schema 2020-12' }),
    record_schema: anyObject.meta({ description: 'JSON Schema 2020-12, of a record without _meta' }),
    example: z.object({ input: anyObject, record: anyObject }),
  })
  .meta({ id: 'Operation' });

export const CONNECTOR = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string(),
    docs_url: z.string(),
    rate_policy: z.string(),
    terms_url: z.string().nullable(),
    attribution: z.string().nullable(),
    operations: z.array(OPERATION),
  })
  .meta({ id: 'Connector' });

export const CONNECTOR_PAGE = pageOf(CONNECTOR).meta({ id: 'ConnectorPage' });
