import { scaleBySuccesses } from './support/address-outcomes.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/** Source: the default rules. */
const DEVICE_NETWORKS_MAX = 2;
/** Choice: of guests who come from a mail campaign through a carrier's gateway, one in four is declined. */
const DECLINES_PER_PAYMENT = 2;
const ACTORS = { person: 'one person', session: 'one session', device: 'one device' } as const;

/**
 * Fires when 4 or more distinct cards, gift cards or bank accounts came with one person, session or device in 24 h, or 6 with one address:
 * stolen ones are being tested. `isValueKey` selects the keys by their names.
 *
 * Quiet for one card that is used repeatedly, such as a gift buyer's. For a device, also quiet if it was on over 2 networks in 24 h,
 * because the fingerprint then belongs to a device model and not to one device, and if payments or logins at the address are known to
 * succeed. For an address, quiet unless 3 payments there were declined in 1 h, and at least twice as many as succeeded; also quiet while
 * under 70 % of its sessions in 1 h are cold starts, as behind a carrier's gateway.
 * Source of numbers and weight: the default rules.
 */
export const valuesPerActor24h = withThresholds({
  code: 'values_per_actor_24h',
  family: 'session_volume',
  weights: { default: 0.5 },
  thresholds: { values: 4, addressValues: 6, coldShare: 0.7, addressDeclines: 3 },
  hint: 'one person, session, device or address uses many payment cards or accounts',
  quietedBy:
    'one value that pays repeatedly; for a device: it was on over 2 networks, or payments at the address succeed; for an address: under 70 % of its sessions are cold',
  evaluate({ history }, _policy, { values, addressValues, coldShare, addressDeclines }) {
    const found = history?.values ?? null;
    if (history === null || found === null) return null;
    // Two phones of one model have one fingerprint.
    const isModel = (history.device?.networks24h ?? 0) > DEVICE_NETWORKS_MAX;
    // A call centre's computer takes the cards of all callers.
    const isDesk = history.ip !== null && scaleBySuccesses(history.ip) < 1;
    if (found.ofActor24h >= values && !(found.actor === 'device' && (isModel || isDesk))) {
      return hit(
        `${found.ofActor24h} values of ${entityName(found)} with ${ACTORS[found.actor]} in 24 h (${values} or more)`,
      );
    }
    const { ip } = history;
    if (ip === null || !(found.ofAddress24h >= addressValues) || !(ip.coldShare1h >= coldShare)) return null;
    if (!(ip.declined1h >= addressDeclines) || ip.declined1h < DECLINES_PER_PAYMENT * ip.paid1h) return null;
    return hit(
      `${found.ofAddress24h} values of ${entityName(found)} from one address in 24 h (${addressValues} or more)`,
    );
  },
});
