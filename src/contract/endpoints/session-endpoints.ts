import { body, type EndpointTexts, json, noContent, reads, writes, writesBody } from '../endpoint.ts';
import { SESSION_ID } from '../parameters.ts';
import { QUERIES } from '../routes.ts';
import { SESSION_COOKIE, SESSION_REQUEST } from '../requests/session-requests.ts';
import { SESSION, SESSION_PAGE } from '../responses/session-responses.ts';

export const SESSION_ENDPOINTS = {
  listSessions: {
    tag: 'sessions',
    summary: "The caller's own sessions, newest first",
    description: 'Their cookies and headers are never shown.',
    guide: '200 with a page, newest first',
    query: QUERIES.listSessions,
    responses: { 200: json(SESSION_PAGE, 'A page of sessions') },
    problems: reads(),
  },
  createSession: {
    tag: 'sessions',
    summary: 'Supply the cookies or headers of a login',
    description: 'It is encrypted at rest, and is sent only to its host and the subdomains of it.',
    guide:
      'Body: `host`, `cookies` or `headers` or both, and optionally `expires_at`. 201 with ' +
      '`{"id":"ses_…","host","created_at","expires_at"}` and `Location`',
    body: { ...body(SESSION_REQUEST), parts: [SESSION_COOKIE] },
    responses: { 201: json(SESSION, 'The session is stored', ['Location']) },
    problems: writesBody('limit_reached', 'blocked_url'),
  },
  findSession: {
    tag: 'sessions',
    summary: "One of the caller's own sessions",
    description: 'Its cookies and headers are never shown.',
    guide: '200 with the session, or 404',
    params: { id: SESSION_ID },
    responses: { 200: json(SESSION, 'The session') },
    problems: reads('not_found'),
  },
  deleteSession: {
    tag: 'sessions',
    summary: 'Delete a session',
    description: 'Jobs that use it lose it at their next page.',
    guide: '204, or 404. Jobs that use it lose it at their next page',
    params: { id: SESSION_ID },
    responses: { 204: noContent('The session is deleted') },
    problems: writes('not_found'),
  },
} satisfies EndpointTexts;
