import { hit, withThresholds } from '../rule.ts';

/**
 * Fires when over 5 entities came with one collector fingerprint in 24 h. A person's user id, e-mail and phone are one: only
 * entities of one key name are held against each other. Quiet without a collector's fingerprint, since a derived one changes
 * with every session. Source of number and weight: the default rules; a family's tablet sees fewer.
 */
export const deviceManyEntities = withThresholds({
  code: 'device_many_entities',
  family: 'device',
  weights: { default: 0.5 },
  thresholds: { entities: 5 },
  hint: 'many accounts are used on one device',
  evaluate({ history }, _policy, { entities }) {
    const device = history?.device ?? null;
    if (device === null || !(device.entities24h > entities)) return null;
    return hit(`${device.entities24h} entities on this device in 24 h (over ${entities})`);
  },
});
