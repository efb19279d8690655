import * as z from 'zod';
import { body, type EndpointTexts, json, reads, writesBody } from '../endpoint.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';
import { PRIVACY_JOB, PRIVACY_STARTED } from '../responses/privacy-responses.ts';

const ID = z.string().meta({ description: 'The id of one of your erasures or exports' });

export const PRIVACY_ENDPOINTS = {
  erasePerson: {
    tag: 'privacy',
    summary: 'Erase a person',
    description:
      'Needs the scope `admin`. Erases what is known of one person up to this call: history, identities, addresses and evidence of ' +
      'decisions, feature rows, logged requests, deliveries, list entries, notes. Time, decision and reason codes of decisions stay. The ' +
      'erasure is recorded before this response, is continued after a restart, and is repeated when an older backup is restored. The value ' +
      'is kept neither there nor in the audit log.',
    guide:
      'Body: exactly one of `entity.<name>`, `ip`, `browser`, and optionally `keep_blocks` (default true). 202 with the id; the work goes on in the ' +
      'background. 409 `limit_reached` at 100,000 erasures, kept as long as the customer; 503 `queue_full` while 1,000 wait',
    body: body(BODIES.erasePerson),
    responses: { 202: json(PRIVACY_STARTED, 'The erasure is recorded') },
    problems: writesBody('limit_reached', 'queue_full'),
  },
  exportPerson: {
    tag: 'privacy',
    summary: 'Export what is kept about a person',
    description:
      'Needs the scope `admin`. Collects everything about one person that an erasure would find, with the meaning of each field. An export ' +
      'by `ip` has only what is about the address: several people may share it. The audit log has the id of the export, not whom it is ' +
      'about.',
    guide:
      'Body: exactly one of `entity.<name>`, `ip`, `browser`. 202 with the id; 503 `queue_full` at 20 exports of the last hour. Kept in the ' +
      'memory of the node for an hour, never on the disk; a restart and every erasure of the customer drop it',
    body: body(BODIES.exportPerson),
    responses: { 202: json(PRIVACY_STARTED, 'The export is queued') },
    problems: writesBody('queue_full'),
  },
  findPrivacyJob: {
    tag: 'privacy',
    summary: 'An erasure: what was found where, and what stays on which ground; or an export',
    description: 'Needs the scope `admin`.',
    guide:
      '200 with `kind` (`erasure`, `export`) and `status` (`queued`, `running`, `succeeded`, `failed`); of an erasure `erased` by place and ' +
      '`kept` with grounds, of an export `found` and `left_out` by place',
    params: { id: ID },
    responses: { 200: json(PRIVACY_JOB, 'The erasure or the export') },
    problems: reads('not_found'),
  },
  readPersonExport: {
    tag: 'privacy',
    summary: 'The result of an export',
    description: 'Needs the scope `admin`.',
    guide:
      '200 with NDJSON: a head with the meaning of each field, rows, an end with counts. `?format=html`: one page for people. 409 ' +
      '`not_ready` until the export has succeeded',
    params: { id: z.string().meta({ description: 'The id of one of your exports' }) },
    query: QUERIES.readPersonExport,
    responses: {
      200: {
        description: 'The export',
        content: {
          'application/x-ndjson': z.string().meta({ description: 'Lines with `type`: `export`, `row`, `end`' }),
          'text/html': z.string().meta({ description: 'One page without scripts' }),
        },
      },
    },
    problems: reads('not_found', 'not_ready'),
  },
} satisfies EndpointTexts;
