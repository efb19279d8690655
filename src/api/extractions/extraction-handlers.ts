import type { SecretHandlers } from '../../http/handlers.ts';
import { ANY_REQUEST_BODY } from '../kit/request-body.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { Cursors } from '../kit/paging.ts';
import { withOptionalBody } from '../webhook-handlers.ts';
import { extractionBody } from './extraction-bodies.ts';
import type { Connector } from '../../extract/base/connector.ts';
import type { ExtractionControl } from '../../extract/base/jobs-port.ts';
import type { CheckTarget } from '../../extract/request/request-target.ts';
import { catalogueHandlers } from './connector-handlers.ts';
import { createHandler } from './create-handlers.ts';
import { jobHandlers } from './job-handlers.ts';
import { recordsHandler } from './record-handlers.ts';
import { sessionHandlers } from './session-handlers.ts';
import { Waits } from './waits.ts';

/** All endpoints of extraction. Source: contract, 11. */
export interface ExtractionRouteParts {
  /** For reads of jobs: the response shows if this node may lack some that others have. */
  readonly ofAllNodes: EndpointFactory;
  readonly control: ExtractionControl;
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
  /** Checks addresses to read from and addresses to deliver to. */
  readonly checkTarget: CheckTarget;
  /** Connector → base address that replaces its own. */
  readonly bases: Readonly<Record<string, string>>;
}

type ExtractionHandlers = SecretHandlers<
  'listExtractions' | 'createExtraction' | 'findExtraction' | 'cancelExtraction' | 'listRecords'
> &
  ReturnType<typeof sessionHandlers> &
  ReturnType<typeof catalogueHandlers>;

export function extractionHandlers(endpoint: EndpointFactory, parts: ExtractionRouteParts): ExtractionHandlers {
  const waits = new Waits(parts.control);
  const { page, find, cancel } = jobHandlers({ ...parts, waits });
  return {
    listExtractions: parts.ofAllNodes({}, page),
    createExtraction: endpoint({ body: extractionBody(parts) }, createHandler({ ...parts, waits })),
    findExtraction: parts.ofAllNodes({}, find),
    cancelExtraction: withOptionalBody(endpoint, ANY_REQUEST_BODY, cancel),
    listRecords: parts.ofAllNodes({}, recordsHandler(parts)),
    ...sessionHandlers(endpoint, parts),
    ...catalogueHandlers(endpoint, parts),
  };
}
