import { describeSuccesses, scaleBySuccesses } from './support/address-outcomes.ts';
import { scaledHit, withThresholds } from './rule.ts';

/**
 * Fires when over 5 entities came with one collector fingerprint in 24 h, and over 3 for each network that it came from: owners of one
 * phone model share its fingerprint, but each comes from a different network. A person's user id, e-mail and phone count as one: only
 * entities of one key name are compared. Weighs less (level `shared`) with up to 60 entities on at most two networks in 24 h: a computer
 * shared by a household, a class or a shop. Weighs 60 % less if logins or payments at the address are known to succeed: a shop's tablet.
 * Quiet without a collector's fingerprint, since a derived one changes with every session, and for a common one, which stands for many
 * devices. Source of number and weight: the default rules; a family's tablet sees fewer.
 * Choice: logins get level `shared` like other events. Without it, 84 % of a shop's customers who log in on its tablet were challenged.
 */
export const deviceManyEntities = withThresholds({
  code: 'device_many_entities',
  family: 'device',
  weights: { default: 0.5, shared: 0.15 },
  thresholds: { entities: 5, networks: 2, entitiesPerNetwork: 3, entitiesMany: 60 },
  hint: 'many accounts are used on one device',
  quietedBy: 'no collector fingerprint, or a common one; 60 % less weight: logins or payments at the address succeed',
  evaluate({ history }, _policy, { entities, networks, entitiesPerNetwork, entitiesMany }) {
    const device = history?.device ?? null;
    if (device === null || device.isCommon || !(device.entities24h > entities)) return null;
    if (!(device.entities24h > entitiesPerNetwork * Math.max(1, device.networks24h))) return null;
    const isShared = !(device.networks24h > networks) && !(device.entities24h > entitiesMany);
    const where = isShared ? `, on at most ${networks} networks` : '';
    const evidence = `${device.entities24h} entities on this device in 24 h (over ${entities})${where}`;
    const ip = history?.ip ?? null;
    const level = isShared ? { level: 'shared' } : {};
    if (ip === null) return { evidence, ...level };
    return { ...scaledHit(evidence, scaleBySuccesses(ip), describeSuccesses(ip)), ...level };
  },
});
