import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { MODELS } from '../responses/model-responses.ts';

export const MODEL_ENDPOINTS = {
  readModels: {
    tag: 'models',
    summary: 'The active model, the challenger beside it, and the candidates',
    description:
      'They are those of the installation, the same for all customers; nothing shows what they were trained on. The states are those ' +
      'of this node.',
    guide: '200 with `{"active","challenger","candidates"}`: versions, ages and states',
    responses: { 200: json(MODELS, 'The models') },
    problems: reads(),
  },
} satisfies EndpointTexts;
