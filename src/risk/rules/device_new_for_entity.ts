import { describeShare, shareOfOne } from './support/fingerprint-share.ts';
import { entityName, scaledHit, withThresholds } from './rule.ts';

/**
 * Fires when an entity that has been known for over 24 h comes with a device that it never had: with a browser whose own id is new to it,
 * on a network that is new to it; without an id, with a new fingerprint. The fingerprint weighs less the more networks over 10 it came
 * from in 24 h (`fingerprint-share.ts`), since owners of one phone model share it.
 *
 * Quiet on an entity's first day, when every device is new; without a collector's fingerprint; with an id, if the entity came with the same
 * fingerprint in the last 24 h and it is not common, as in a private window; without an id, for a common fingerprint, which stands for many
 * devices. Source of number and weight: the default rules; low, since people do buy phones.
 * Choice: with an id quiet on a known network. A private window has a new id each time, and most are opened at home.
 */
export const deviceNewForEntity = withThresholds({
  code: 'device_new_for_entity',
  family: 'device',
  weights: { default: 0.15 },
  thresholds: { knownHoursMin: 24 },
  hint: 'the account is used on a device that is new to it',
  quietedBy:
    "the entity's first day; no collector fingerprint; a common one without an id of the browser; with an id, the entity came with the same fingerprint in 24 h, and it is not common; a fingerprint has less weight from the 11th network on",
  evaluate({ history }, _policy, { knownHoursMin }) {
    const device = history?.device ?? null;
    if (history === null || device === null) return null;
    const hasId = device.browser !== null;
    const share = hasId ? 1 : shareOfOne(device);
    if (share === 0) return null;
    const known = history.entities.find(
      (one) => one.deviceIsNew && one.knownForSeconds > knownHoursMin * 3_600 && (one.networkIsNew || !hasId),
    );
    if (known === undefined) return null;
    const evidence = `${entityName(known)}: a new device after ${Math.floor(known.knownForSeconds / 3_600)} h`;
    return scaledHit(evidence, share, describeShare(device));
  },
});
