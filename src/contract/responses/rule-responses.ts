import * as z from 'zod';

const TYPE = z.enum(['number', 'text', 'boolean', 'list', 'numbers']);

export const FACT_LIST = z.object({
  data: z.array(
    z.object({
      name: z.string().meta({ description: 'As it is written in a condition; <name> stands for a name of your own' }),
      type: TYPE,
      unit: z.string().optional(),
      meaning: z.string(),
      absent_when: z.string().meta({ description: 'Empty if it never is' }),
    }),
  ),
});

export const CHECKED_RULE = z.object({
  ok: z.literal(true),
  type: z.literal('boolean'),
  facts: z.array(z.string()).meta({ description: 'The facts in the condition, without identities' }),
  cost: z.int().meta({ description: 'Most steps of one evaluation; at most 2,000' }),
});
