import * as z from 'zod';
import { body, type EndpointTexts, json, reads, writesBody } from '../endpoint.ts';
import { BODIES } from '../bodies.ts';
import { ERASURE_JOB, ERASURE_STARTED } from '../responses/privacy-responses.ts';

const ID = z.string().meta({ description: 'The id of one of your erasures' });

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
    responses: { 202: json(ERASURE_STARTED, 'The erasure is recorded') },
    problems: writesBody('limit_reached', 'queue_full'),
  },
  findErasure: {
    tag: 'privacy',
    summary: 'An erasure: what was found where, and what stays on which ground',
    description: 'Needs the scope `admin`.',
    guide: '200 with `status` (`queued`, `running`, `succeeded`, `failed`), `erased` by place and `kept` with grounds',
    params: { id: ID },
    responses: { 200: json(ERASURE_JOB, 'The erasure') },
    problems: reads('not_found'),
  },
} satisfies EndpointTexts;
