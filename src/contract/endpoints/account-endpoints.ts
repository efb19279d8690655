import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { ME } from '../responses/account-responses.ts';

export const ACCOUNT_ENDPOINTS = {
  readMe: {
    tag: 'account',
    summary: 'The customer and the key of this call, and the policy that applies to it',
    guide: '200 with the customer, the key, its rate limits and the version of the policy',
    responses: { 200: json(ME, 'The customer and the key') },
    problems: reads(),
  },
} satisfies EndpointTexts;
