import type { Route } from '../base/exchange.ts';
import { ANY_BODY } from '../manage/body.ts';
import type { Managed } from '../manage/managed.ts';
import type { Cursors } from '../manage/paging.ts';
import { withOptionalBody } from '../manage/webhooks.ts';
import { extractionBody } from './bodies.ts';
import type { Connector } from './connector.ts';
import type { ExtractionControl } from './jobs-port.ts';
import type { CheckTarget } from './request/target.ts';
import { catalogueRoutes } from './routes/catalogue.ts';
import { createHandler } from './routes/create.ts';
import { jobHandlers } from './routes/jobs.ts';
import { recordsHandler } from './routes/records.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { Waits } from './routes/waits.ts';

/** Every endpoint of extractions. Source: extraction specification, section 4; open points, section 5. */
export interface ExtractionRouteParts {
  readonly control: ExtractionControl;
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
  /** For addresses to read from, and for those to deliver to. */
  readonly checkTarget: CheckTarget;
  /** An operator's bound of what a job may gather. */
  readonly recordsMax: number;
  /** Connector → another base address. */
  readonly bases: Readonly<Record<string, string>>;
}

const EXTRACTIONS = '/v1/extractions';

export function extractionRoutes(managed: Managed, parts: ExtractionRouteParts): Route[] {
  const waits = new Waits(parts.control);
  const create = createHandler({ ...parts, waits });
  const { page, find, cancel } = jobHandlers({ ...parts, waits });
  const records = recordsHandler(parts);
  return [
    managed.route(EXTRACTIONS, { GET: managed({}, page), POST: managed({ body: extractionBody(parts) }, create) }),
    managed.route(`${EXTRACTIONS}/{id}`, { GET: managed({}, find) }),
    managed.route(`${EXTRACTIONS}/{id}/cancel`, { POST: withOptionalBody(managed, ANY_BODY, cancel) }),
    managed.route(`${EXTRACTIONS}/{id}/records`, { GET: managed({}, records) }),
    ...sessionRoutes(managed, parts),
    ...catalogueRoutes(managed, parts),
  ];
}
