import { grantHandler } from '../api/grant-handler.ts';
import { scriptHandlers } from '../api/script-handlers.ts';
import { SourceRate } from '../decide/source-rate.ts';
import { visitorSource } from '../decide/visitor-source.ts';
import type { Handlers } from '../http/handlers.ts';
import { RATE_GRANTS } from '../kernel/limits.ts';
import { webFolder } from '../kernel/programs.ts';
import { CollectorGrants } from '../risk/signals/collector-grant.ts';
import { findCollectorScripts } from './collector-files.ts';
import { GRANTS_PURPOSE } from './installation.ts';
import type { ServiceParts } from './service-parts.ts';
import type { SharedParts } from './wire-endpoints.ts';

type CollectorEndpointId = 'collectorScript' | 'collectorModule' | 'collectorVersion' | 'issueGrant';

/** Part of the role `decide`: the collector's script, and grants for its tokens. */
export function wireCollector(
  { clock, keyCache, listener, installation, log }: ServiceParts,
  { failures, onRefused }: SharedParts,
): Handlers<CollectorEndpointId> {
  const found = findCollectorScripts(webFolder('collector'));
  if (found.kind === 'missing') {
    log.warn({ detail: found.detail }, 'the collector script is not part of this build, /v1/collector.js responds 404');
  }
  return {
    ...scriptHandlers(found.kind === 'found' ? found.scripts : null, onRefused),
    issueGrant: grantHandler({
      clock,
      keyCache,
      failures,
      rate: new SourceRate(RATE_GRANTS),
      visitorSource: visitorSource(listener.trustedProxies),
      grants: new CollectorGrants(installation.keyFor(GRANTS_PURPOSE)),
      onRefused,
    }),
  };
}
