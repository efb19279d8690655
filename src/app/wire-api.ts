import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { Cursors } from '../api/kit/paging.ts';
import { ProvenIds } from '../kernel/ids.ts';
import { LinkTargets } from '../api/link-target.ts';
import { managementHandlers } from '../api/resource-handlers.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import type { FingerprintLookup } from '../velocity/fingerprint-lookup.ts';
import { LINKS_PURPOSE, REQUESTS_PURPOSE } from './installation.ts';
import type { ServiceParts } from './service-parts.ts';
import { extractHandlers } from './wire-extractions.ts';
import { webhookParts } from './wire-webhooks.ts';

/** The role `api`: all endpoints for customers except decide and outcomes. They give way to decisions. */
export function wireApi(
  parts: ServiceParts,
  endpoint: EndpointFactory,
  fingerprints: FingerprintLookup,
): SecretHandlers<Exclude<SecretEndpointId, 'reportOutcomes'>> {
  const { settings, installation, decisions, dispatcher, extractions } = parts;
  const { store, keyFor } = installation;
  const { egressAllow } = settings;
  const cursors = new Cursors(keyFor('cursor'));
  return {
    ...managementHandlers({
      endpoint,
      cursors,
      store,
      decisions,
      stats: parts.stats,
      linkTargets: new LinkTargets(keyFor(LINKS_PURPOSE)),
      requestIds: new ProvenIds(keyFor(REQUESTS_PURPOSE)),
      fingerprints,
      webhooks: webhookParts({ store, key: keyFor('webhook-secrets'), dispatcher, egressAllow }),
    }),
    ...extractHandlers(endpoint, { extractions, cursors, egressAllow }),
  };
}
