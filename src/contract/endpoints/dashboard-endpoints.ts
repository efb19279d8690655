import { body, type EndpointTexts, json, noContent, optionalBody } from '../endpoint.ts';
import type { ProblemCode } from '../problem.ts';
import { BODY_PROBLEMS, FORM_PROBLEMS } from '../problem-table.ts';
import { SIGN_IN, SIGN_OUT } from '../requests/dashboard-requests.ts';
import { SIGNED_IN } from '../responses/dashboard-responses.ts';

/** Problem codes of every endpoint of the dashboard. */
const PROBLEMS = [
  ...FORM_PROBLEMS,
  'rate_limited',
  'overloaded',
  'internal_error',
] as const satisfies readonly ProblemCode[];
const WRITE_PROBLEMS = [...PROBLEMS, ...BODY_PROBLEMS, 'cross_site_request'] as const satisfies readonly ProblemCode[];

export const DASHBOARD_ENDPOINTS = {
  signIn: {
    tag: 'dashboard',
    summary: 'Sign in to the dashboard',
    description:
      'For the pages of the dashboard: needs Origin (or Sec-Fetch-Site: same-origin) of the dashboard and X-Gatehouse: 1.',
    guide: 'Body: `key`, a secret key, or `code` of a sign-in link. 204 with the session cookie',
    body: body(SIGN_IN),
    responses: { 204: { ...noContent('The session is open'), headers: ['Set-Cookie'] } },
    problems: [...WRITE_PROBLEMS, 'unknown_key', 'revoked_key', 'invalid_code', 'key_not_allowed'],
  },
  signOut: {
    tag: 'dashboard',
    summary: 'End the session, or all sessions of its key',
    description:
      'For the pages of the dashboard: needs Origin (or Sec-Fetch-Site: same-origin) of the dashboard and X-Gatehouse: 1.',
    guide: 'Optional body: `all`, true to end all sessions of the key. 204; the cookie is removed',
    body: optionalBody(SIGN_OUT),
    responses: { 204: { ...noContent('The session has ended'), headers: ['Set-Cookie'] } },
    problems: [...WRITE_PROBLEMS, 'session_required'],
  },
  readSignIn: {
    tag: 'dashboard',
    summary: 'Who is signed in',
    guide: '200 with the customer, the key and the times of the session, or 401 `session_required`',
    responses: { 200: json(SIGNED_IN, 'The session of the cookie') },
    problems: [...PROBLEMS, 'session_required'],
  },
} satisfies EndpointTexts;
