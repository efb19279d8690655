import * as z from 'zod';
import { OVERLOAD_REASONS } from '../problem.ts';

/** Codes of invalid fields. The last three are also problem codes. */
export const FIELD_ERROR_CODES = [
  'required',
  'wrong_type',
  'invalid_value',
  'too_long',
  'too_short',
  'too_many',
  'too_few',
  'too_large',
  'too_small',
  'unknown_path',
  'name_collision',
  'invalid_schema',
  'unsupported_schema',
  'unsupported_pattern',
  'unknown_fact',
  'type_error',
  'syntax_error',
  'too_costly',
  'unknown_connector',
  'unknown_operation',
  'blocked_url',
] as const;

export const FIELD_ERROR = z
  .object({
    pointer: z.string().meta({ description: 'RFC 6901; ?name for a query parameter' }),
    code: z.enum(FIELD_ERROR_CODES),
    message: z.string(),
    line: z.int().min(1).optional().meta({ description: 'In the text of the field; with errors of conditions' }),
    column: z.int().min(1).optional(),
    did_you_mean: z.string().optional(),
  })
  .meta({ id: 'FieldError' });

/** A problem response. Source: RFC 9457. */
export const PROBLEM = z
  .object({
    type: z.string().regex(/^urn:gatehouse:error:/),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    reason: z
      .enum(OVERLOAD_REASONS)
      .optional()
      .meta({ description: 'With overloaded: what is full, see docs/overload.md' }),
    request_id: z.string(),
    errors: z.array(FIELD_ERROR).optional(),
    server_time: z.int().optional().meta({ description: 'Unix seconds; with timestamp_out_of_window' }),
    retry_after: z.int().min(1).optional().meta({ description: 'Seconds; with 429 and 503' }),
  })
  .meta({ id: 'Problem' });
