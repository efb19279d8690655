import { type EndpointTexts, json, reads } from '../endpoint.ts';
import { AUDIT_PAGE } from '../responses/audit-responses.ts';
import { QUERIES } from '../routes.ts';

export const AUDIT_ENDPOINTS = {
  listAudit: {
    tag: 'audit',
    summary: 'Who changed what, newest first',
    description:
      'Changes of your keys, lists, labels, reviews and webhooks, by your keys, the operator or the service, for 400 days and at ' +
      'most 10,000 of them. A page may be short, or even empty, although `has_more` is true.',
    guide:
      '200 with a page of entries `{"at","actor","kind","target","before","after"}`, newest first. Filters: `?kind=`, `?since=` and ' +
      '`?until=` (Unix seconds); a filtered page may be short',
    query: QUERIES.listAudit,
    responses: { 200: json(AUDIT_PAGE, 'A page of entries') },
    problems: reads(),
  },
} satisfies EndpointTexts;
