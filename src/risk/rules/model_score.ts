import type { Rule } from './rule.ts';

/**
 * The model's probability as a rule. The engine fires it, with the probability as scale, when that is .5 or more: the model sees the whole
 * request and runs beside the rules, so there is nothing to evaluate here.
 * Source of the weight: contract, 6.2, at most .85.
 */
export const modelScore: Rule = {
  code: 'model_score',
  family: 'model',
  weights: { default: 0.85 },
  hint: 'the risk model rates the request as likely fraud',
  quietedBy: 'no model',
  evaluate: () => null,
};
