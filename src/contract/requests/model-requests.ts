import * as z from 'zod';

/** The body of `POST /v1/models/choose`. */
export const MODEL_CHOICE = z
  .object({
    action: z.enum(['shadow', 'end_shadow', 'promote', 'rollback', 'resume']).meta({
      description:
        '`shadow`: run the candidate beside the active model, where it decides nothing; `end_shadow`: end that; `promote`: make the ' +
        'challenger the active model, if every gate of the comparison holds; `rollback`: return to the model before; `resume`: let the ' +
        'active model count again where its circuit breaker has silenced it',
    }),
    id: z.string().max(64).optional().meta({ description: 'The candidate, for `shadow` and `promote`' }),
  })
  .meta({ id: 'ModelChoice' });

export type ModelAction = z.infer<typeof MODEL_CHOICE>['action'];
