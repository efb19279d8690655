import type { CustomerNumber } from '../base/brand.ts';
import type { Facts } from '../core/facts.ts';
import type { HistoryEvent } from '../core/history.ts';
import type { ActivePolicy } from '../core/policy-set.ts';
import { placeOf } from '../core/travel.ts';

/** What memory takes in of a request. */
export function historyEvent(
  facts: Omit<Facts, 'history'>,
  customer: CustomerNumber,
  publicKey: boolean,
  nowMs: number,
  { policy, ignoredEntityKeys }: Pick<ActivePolicy, 'policy' | 'ignoredEntityKeys'>,
): HistoryEvent {
  const { token, fingerprintHash, ip, geo, agent, entities } = facts;
  const collector = token.kind === 'collector';
  return {
    customer,
    publicKey,
    nowMs,
    eventType: facts.eventType,
    sessionId: collector ? token.sessionId : fingerprintHash,
    networks: ip?.kind === 'valid' && ip.public ? ip.networks : null,
    country: geo?.country ?? null,
    place: geo === null ? null : placeOf(geo, policy),
    agent,
    entities: counted(entities, ignoredEntityKeys),
    device: collector ? fingerprintHash : null,
  };
}

/** Mostly none is ignored, and then the list is the request's own. */
function counted(entities: Facts['entities'], ignoredKeys: ReadonlySet<string>): Facts['entities'] {
  return entities.some(({ name }) => ignoredKeys.has(name))
    ? entities.filter(({ name }) => !ignoredKeys.has(name))
    : entities;
}
