import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires when an entity that has been known for over 24 h comes with a collector fingerprint that it never had. Quiet on an entity's first
 * day, when every device is new; without a collector's fingerprint; and for a common one, which stands for many devices. Source of number
 * and weight: the default rules; low, since people do buy phones.
 */
export const deviceNewForEntity = withThresholds({
  code: 'device_new_for_entity',
  family: 'device',
  weights: { default: 0.15 },
  thresholds: { knownHoursMin: 24 },
  hint: 'the account is used on a device that is new to it',
  quietedBy: "the entity's first day; no collector fingerprint, or a common one",
  evaluate({ history }, _policy, { knownHoursMin }) {
    if (history?.device?.isCommon === true) return null;
    const known = history?.entities.find((one) => one.deviceIsNew && one.knownForSeconds > knownHoursMin * 3_600);
    if (known === undefined) return null;
    return hit(`${entityName(known)}: a new device after ${Math.floor(known.knownForSeconds / 3_600)} h`);
  },
});
