import * as z from 'zod';
import { CONDITION_CHARACTERS_MAX } from '../conditions/condition.ts';
import { COUNTER_KINDS, COUNTER_WINDOWS } from '../history.ts';
import { COUNTER_NAME, COUNTERS_MAX } from './counter-declarations.ts';
import { byName, fields, writtenText } from './schema-parts.ts';

/** Choice: `entity.` and the longest key name, with room. */
const COUNTED_CHARACTERS_MAX = 100;

const counted = (description: string) => writtenText(COUNTED_CHARACTERS_MAX).meta({ description });
/** The part `counters` of a policy file. */
export const COUNTERS_SCHEMA = byName(
  z.string().regex(COUNTER_NAME, 'must be a name: 1 to 32 lower-case letters, digits and _, with a letter first'),
  fields({
    kind: z.enum(COUNTER_KINDS, `must be one of ${COUNTER_KINDS.join(', ')}`),
    of: counted('What is distinct, or what is summed; not for a count.').optional(),
    by: counted('For whom: account, device, session, ip, network, customer, entity.<name> or a fact of the request.'),
    window: z.enum(COUNTER_WINDOWS, `must be one of ${COUNTER_WINDOWS.join(', ')}`),
    when: writtenText(CONDITION_CHARACTERS_MAX)
      .optional()
      .meta({ description: 'Which events count; without it, all.' }),
  })
    .refine(({ kind, of }) => (kind === 'count') === (of === undefined), {
      error: 'must have "of" if its kind is distinct or sum, and only then',
    })
    .meta({ id: 'counter', description: 'A counter of your own.' }),
  COUNTERS_MAX,
)
  .optional()
  .meta({ description: 'Counters of your own, which conditions read as counters.<name>.' });
