import * as z from 'zod';

const IGNORED_MEMBER = z.object({
  pointer: z.string().meta({ description: 'RFC 6901 pointer into the request body' }),
  code: z.literal('unknown_field'),
  did_you_mean: z.string().optional().meta({ description: 'The nearest name that is read there' }),
});

/** Every JSON response to a call with a body may have these in addition. */
export const IGNORED_MEMBERS = z
  .object({
    warnings: z.array(IGNORED_MEMBER).optional().meta({
      description: 'Members of the request that were ignored, the first 32; absent without any',
    }),
  })
  .meta({ id: 'IgnoredMembers' });
