import type { DeviceHistory, HistoryFacts } from '../history.ts';
import { describeSuccesses, scaleBySuccesses } from './support/address-outcomes.ts';
import { describeShare, shareOfOne } from './support/fingerprint-share.ts';
import { type Hit, scaledHit, withThresholds } from './rule.ts';

interface Numbers {
  readonly entities: number;
  readonly networks: number;
  readonly entitiesPerNetwork: number;
  readonly entitiesMany: number;
}

/**
 * Fires when over 5 entities came with one device in 24 h. A person's user id, e-mail and phone count as one: only entities of one key name
 * are compared. A device is recognised in two ways, and the stronger hit counts:
 * - by the browser's own id, where the collector has one;
 * - by its fingerprint, if over 3 entities came for each network that it came from: owners of one phone model share its fingerprint, but
 *   each comes from a different network. Weighs less the more networks over 10 it came from (`fingerprint-share.ts`). Quiet for a common
 *   one, and if the account knows the browser by its id: then others with the same model do not count. An id that is new in each request
 *   is known to no account, so it does not silence the rule.
 *
 * Weighs less (level `shared`) with up to 60 entities on at most two networks in 24 h: a computer shared by a household, a class or a shop.
 * Weighs 60 % less if logins or payments at the address are known to succeed: a shop's tablet. Quiet without a collector's fingerprint,
 * since a derived one changes with every session.
 * Source of number and weight: the default rules; a family's tablet sees fewer.
 * Choice: logins get level `shared` like other events. Without it, 84 % of a shop's customers who log in on its tablet were challenged.
 */
export const deviceManyEntities = withThresholds({
  code: 'device_many_entities',
  family: 'device',
  weights: { default: 0.5, shared: 0.15 },
  thresholds: { entities: 5, networks: 2, entitiesPerNetwork: 3, entitiesMany: 60 },
  hint: 'many accounts are used on one device',
  quietedBy:
    'no collector fingerprint; a fingerprint: it is common, or the account knows the browser by its id, less weight from the 11th network on; 60 % less weight: logins or payments at the address succeed',
  evaluate({ history }, _policy, numbers) {
    const device = history?.device ?? null;
    if (history === null || device === null) return null;
    const own = ofBrowser(device, history, numbers);
    if (own !== null && own.level === undefined) return own;
    const ofMake = ofFingerprint(device, history, numbers);
    return ofMake !== null && (own === null || ofMake.level === undefined) ? ofMake : own;
  },
});

function ofBrowser({ browser }: DeviceHistory, history: HistoryFacts, numbers: Numbers): Hit | null {
  if (browser === null || !(browser.entities24h > numbers.entities)) return null;
  return hitOf('in this browser', browser, history, numbers, 1, '');
}

function ofFingerprint(device: DeviceHistory, history: HistoryFacts, numbers: Numbers): Hit | null {
  const { entities24h, networks24h, browser } = device;
  if (!(entities24h > numbers.entities) || browser?.isOfAccount === true) return null;
  if (!(entities24h > numbers.entitiesPerNetwork * Math.max(1, networks24h))) return null;
  const share = shareOfOne(device);
  return share === 0 ? null : hitOf('on this device', device, history, numbers, share, describeShare(device));
}

function hitOf(
  where: string,
  { entities24h, networks24h }: { readonly entities24h: number; readonly networks24h: number },
  { ip }: HistoryFacts,
  { entities, networks, entitiesMany }: Numbers,
  share: number,
  shareText: string,
): Hit {
  const isShared = !(networks24h > networks) && !(entities24h > entitiesMany);
  const few = isShared ? `, on at most ${networks} networks` : '';
  const evidence = `${entities24h} entities ${where} in 24 h (over ${entities})${few}`;
  const level = isShared ? { level: 'shared' } : {};
  const byAddress = ip === null ? 1 : scaleBySuccesses(ip);
  const why = [...(share < 1 ? [shareText] : []), ...(ip !== null && byAddress < 1 ? [describeSuccesses(ip)] : [])];
  return { ...scaledHit(evidence, share * byAddress, why.join(', ')), ...level };
}
