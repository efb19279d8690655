import { isPayingStep } from '../event-outcome.ts';
import { ownerScale } from './support/account-context.ts';
import type { HistoryFacts } from '../history.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires on a payment or checkout when 4 or more payments of its session, of one of its entities or of its address were declined in 1 h:
 * stolen cards are being tested.
 *
 * Quiet for an entity on a device and a network that its account knows; for an address where fewer than half of the payments were declined,
 * as behind a carrier's gateway; without reported outcomes. Source of number and weight: the default rules; a shopper whose card is
 * declined tries it again, or another one.
 */
export const paymentDeclinesActor1h = withThresholds({
  code: 'payment_declines_actor_1h',
  family: 'session_volume',
  weights: { default: 0.5 },
  thresholds: { declines: 4, addressShare: 0.5 },
  hint: 'many payments of the same payer were declined',
  quietedBy:
    'for the address: under half were declined; for an entity: a device and a network known to its account; no outcomes are reported',
  evaluate({ eventType, history }, _policy, { declines, addressShare }) {
    if (history === null || !isPayingStep(eventType)) return null;
    const { session } = history;
    if (session.declined1h >= declines) return hit(describe('the session', session.declined1h, declines));
    const entity = history.entities.find(({ declined1h }) => declined1h >= declines);
    if (entity !== undefined && ownerScale(history) !== 0)
      return hit(describe(entityName(entity), entity.declined1h, declines));
    const declined = declinesOfAddress(history, addressShare);
    return declined >= declines ? hit(describe('the address', declined, declines)) : null;
  },
});

/** Returns the declined payments of the address; 0 if too many other payments there succeed. */
function declinesOfAddress({ ip }: HistoryFacts, shareMin: number): number {
  if (ip === null || ip.declined1h === 0) return 0;
  return ip.declined1h >= shareMin * (ip.declined1h + ip.paid1h) ? ip.declined1h : 0;
}

function describe(whose: string, declined: number, from: number): string {
  return `${whose}: ${declined} declined payments in 1 h (${from} or more)`;
}
