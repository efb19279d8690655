import * as z from 'zod';

/** The body of `POST /v1/rules/check`. Conditions of up to 1,000 characters are compiled; longer ones get their own error. */
export const RULE_CHECK = z
  .object({ when: z.string('This must be a text.').meta({ description: 'A condition' }) })
  .meta({ id: 'RuleCheck', examples: [{ when: 'event.type == "payment" && attributes.amount > 500' }] });
