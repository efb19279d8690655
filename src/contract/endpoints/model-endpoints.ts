import { BODIES } from '../bodies.ts';
import { body, type EndpointTexts, json, reads, writesBody } from '../endpoint.ts';
import { MODEL_CHOSEN, MODEL_COMPARISON, MODEL_ROWS, MODELS } from '../responses/model-responses.ts';

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
  chooseModel: {
    tag: 'models',
    summary: 'Choose which model decides, or which candidate runs beside it',
    description:
      'Models belong to the whole installation, so it must have one customer only, beside suspended ones; otherwise, and in a cluster, where each node has its own ' +
      'folder of models, the commands of `gatehouse models` choose. Promoting against a gate is for the command line too.',
    guide:
      'Body: `{"action","id"}`: `shadow`, `end_shadow`, `promote`, `rollback` or `resume`; `id` for `shadow` and `promote`. 200 with `{"id","previous"}`: the ' +
      'candidate chosen and the one before; 404 without such a candidate, 409 `not_ready` with the reason, for example gates that do not hold',
    body: body(BODIES.chooseModel),
    responses: { 200: json(MODEL_CHOSEN, 'It is chosen; a running server loads it within seconds') },
    problems: writesBody('not_found', 'not_ready', 'key_not_allowed'),
  },
} satisfies EndpointTexts;
