import { ownerScale, QUIETED_BY_OWNER } from './support/account-context.ts';
import { entityName, scaledHit, withThresholds } from './rule.ts';
import { mostOf } from './velocity_entity_1m.ts';

/**
 * Fires when one entity came with over 4 distinct collector fingerprints in 24 h. Derived fingerprints do not count, since they change with
 * every session. Quiet on a device and a network that the account knows, half weight on one of them (`account-context.ts`), because anybody
 * can raise the number. Source of number and weight: the default rules; a phone, a tablet and two computers are 4.
 */
export const velocityEntityDevices24h = withThresholds({
  code: 'velocity_entity_devices_24h',
  family: 'entity_volume',
  weights: { default: 0.3 },
  thresholds: { devices: 4 },
  hint: 'the account is used on many devices',
  quietedBy: 'no collector fingerprints; a device and a network known to the account; one of them: half weight',
  evaluate({ history }, _policy, { devices }) {
    const entity = mostOf(history?.entities, 'devices24h');
    if (entity === null || !(entity.devices24h > devices)) return null;
    const scale = ownerScale(history ?? { context: null });
    if (scale === 0) return null;
    return scaledHit(
      `${entityName(entity)}: ${entity.devices24h} devices in 24 h (over ${devices})`,
      scale,
      QUIETED_BY_OWNER,
    );
  },
});
