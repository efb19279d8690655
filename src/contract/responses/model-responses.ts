import * as z from 'zod';
import { unixSeconds } from './response-parts.ts';

const candidateId = z.string().nullable().meta({
  description: 'Null for the files in the folder of models itself, and without a model',
});

const MODEL_SLOT = z
  .object({
    id: candidateId,
    version: z.string().nullable(),
    state: z.enum(['ok', 'absent', 'broken']),
    detail: z.string().meta({ description: 'Why it does not run, or why newer files were refused' }),
    refused: z.boolean().meta({ description: 'Whether newer files were refused, whatever runs now' }),
    since: unixSeconds.nullable().meta({ description: 'When it was chosen; null if that is not known' }),
  })
  .meta({ id: 'ModelSlot' });

const CANDIDATE = z
  .object({
    id: z.string(),
    version: z.string().nullable(),
    format: z.string().nullable().meta({ description: '`forest` or `onnx`' }),
    trained_at: unixSeconds.nullable(),
    prior: z.number().nullable().meta({ description: 'Share of fraud that its probabilities are at' }),
    threshold: z.number().nullable().meta({ description: 'The probability from which it counts' }),
    shadow_only: z.boolean().meta({ description: 'It knows too few frauds to decide' }),
    role: z.enum(['active', 'challenger']).nullable(),
  })
  .meta({ id: 'ModelCandidate' });

export const MODELS = z
  .object({
    active: MODEL_SLOT,
    challenger: MODEL_SLOT,
    candidates: z.array(CANDIDATE).meta({ description: 'Newest first, at most 50' }),
  })
  .meta({ id: 'Models' });
