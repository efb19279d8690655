import { CORS_HEADERS } from '../headers.ts';
import { type EndpointTexts, json, optionalBody, type ResponseSpec } from '../endpoint.ts';
import { COLLECTOR_FILE } from '../parameters.ts';
import { COMMON_PROBLEMS, FORM_PROBLEMS } from '../problem-table.ts';
import { ANY_BODY, GRANT, SCRIPT } from '../responses/collector-responses.ts';

const SCRIPT_RESPONSES: Readonly<Record<200 | 304, ResponseSpec>> = {
  200: {
    description: 'The script',
    content: { 'text/javascript': SCRIPT },
    headers: ['Access-Control-Allow-Origin', 'Content-Encoding', 'ETag', 'Vary'],
  },
  304: {
    description: 'The client already has this version (If-None-Match)',
    headers: ['Access-Control-Allow-Origin', 'ETag', 'Vary'],
  },
};
const SCRIPT_PROBLEMS = [...FORM_PROBLEMS, 'not_found', 'overloaded'] as const;

export const COLLECTOR_ENDPOINTS = {
  collectorScript: {
    tag: 'collector',
    summary: 'The collector script, its newest version',
    description: 'A classic script. Clients keep it for an hour. 404 in a build without the script.',
    guide: 'The newest version of the script, for `<script src>`; kept for an hour',
    responses: SCRIPT_RESPONSES,
    problems: SCRIPT_PROBLEMS,
  },
  collectorModule: {
    tag: 'collector',
    summary: 'The collector script as a module, its newest version',
    guide: 'The same as a module, for `import`',
    responses: SCRIPT_RESPONSES,
    problems: SCRIPT_PROBLEMS,
  },
  collectorVersion: {
    tag: 'collector',
    summary: 'One version of the collector script',
    description: 'Only the version of this server. Its content never changes, so pages can check its integrity.',
    guide:
      '`{file}` is `<version>.js` or `<version>.mjs`. The version of this server, kept for a year; any other one is 404',
    params: { file: COLLECTOR_FILE },
    responses: SCRIPT_RESPONSES,
    problems: SCRIPT_PROBLEMS,
  },
  issueGrant: {
    tag: 'collector',
    summary: 'A grant for the tokens of a page',
    description:
      'For scripts of the origins that the public key allows; any other Origin, and none, is 403. The body is ignored. The other three ' +
      'headers of a signature are optional; a signature must verify. At most 60 grants a minute for one address.',
    guide:
      '200 with `grant`, `nonce` and `expires_at`. Public key in `X-SVC-Key`; `Origin` must be one that the key allows',
    body: { ...optionalBody(ANY_BODY), described: false },
    responses: { 200: json(GRANT, 'A grant', CORS_HEADERS) },
    problems: [
      ...COMMON_PROBLEMS.filter((code) => code !== 'replayed_request'),
      'key_not_allowed',
      'origin_not_allowed',
    ],
  },
} satisfies EndpointTexts;
