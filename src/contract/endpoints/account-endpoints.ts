import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { QUERIES } from '../routes.ts';
import { API_KEY_PAGE, ME } from '../responses/account-responses.ts';

export const ACCOUNT_ENDPOINTS = {
  readMe: {
    tag: 'account',
    summary: 'The customer and the key of this call, and the policy that applies to it',
    guide: '200 with the customer, the key, its rate limits and the version of the policy',
    responses: { 200: json(ME, 'The customer and the key') },
    problems: reads(),
  },
  listKeys: {
    tag: 'account',
    summary: "The caller's own keys, oldest first, and how they were used",
    description:
      'Revoked keys are listed too. The use is counted in memory since the last start, for the last 24 hours in whole hours; only ' +
      'calls whose key was verified count. A key itself is never shown.',
    guide: '200 with a page of keys, oldest first, with their use in the last 24 hours',
    query: QUERIES.listKeys,
    responses: { 200: json(API_KEY_PAGE, 'A page of keys', ['X-SVC-Partial']) },
    problems: reads(),
  },
} satisfies EndpointTexts;
