import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { MODEL_COMPARISON, MODEL_ROWS, MODELS } from '../responses/model-responses.ts';

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
  readModelRows: {
    tag: 'models',
    summary: "What the caller's own decisions have for a model to learn from",
    description:
      'Covers the newest 100,000 decisions and the feature rows that outlived theirs; in a cluster those of the node that answers. A ' +
      'model learns from all customers of the installation, so another one may have what is missing here. While too many searches ' +
      'are running, the response is 429 with the code overloaded.',
    guide: '200 with rows, known sessions, labels by source and age, and what is missing for training',
    responses: { 200: json(MODEL_ROWS, 'The stock', ['X-SVC-Partial']) },
    problems: reads(),
  },
  compareModels: {
    tag: 'models',
    summary: "The challenger against the active model, on the caller's own decisions",
    description:
      'Covers the newest 100,000 decisions since the challenger runs, by sessions. What is known of a session comes from labels, verdicts ' +
      'of the review queue and ends of challenges. The log keeps an ALLOW for 24 hours only, unless the challenger would have stopped it: ' +
      'the shares of stopped honest sessions are too high, and their difference is not too low. The gates are those of a promotion, which ' +
      'counts the decisions of all customers. While too many searches are running, the response is 429 with the code overloaded.',
    guide:
      '200 with sessions, false alarms and frauds caught by both, each with its 95 % interval, and the gates; without a challenger `id` is null',
    responses: { 200: json(MODEL_COMPARISON, 'The comparison', ['X-SVC-Partial']) },
    problems: reads(),
  },
} satisfies EndpointTexts;
