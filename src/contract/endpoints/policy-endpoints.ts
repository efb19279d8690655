import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { POLICY, POLICY_HISTORY } from '../responses/policy-responses.ts';

export const POLICY_ENDPOINTS = {
  readPolicy: {
    tag: 'policy',
    summary: "The policy as it applies to the caller's own decisions",
    description:
      "Settings of the policy file for all customers and for this one; never those of another customer. The challenger's " +
      'differences are from this policy.',
    guide:
      '200 with bands by event type, every rule with its weights and thresholds, and what the challenger differs in',
    responses: { 200: json(POLICY, 'The policy') },
    problems: reads(),
  },
  listPolicyHistory: {
    tag: 'policy',
    summary: "The newest policies that applied to the caller's own decisions, and what each of them changed",
    description:
      'At most 16 policies, the present one included; they survive a restart. A change of the file that changes nothing for this ' +
      'customer has no differences.',
    guide: '200 with `{"data": […]}`, newest first, at most 16 policies with their differences from the one before',
    responses: { 200: json(POLICY_HISTORY, 'The policies') },
    problems: reads(),
  },
} satisfies EndpointTexts;
