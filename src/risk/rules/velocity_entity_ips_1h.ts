import { ownerScale, QUIETED_BY_OWNER } from './support/account-context.ts';
import { entityName, scaledHit, withThresholds } from './rule.ts';
import { mostOf } from './velocity_entity_1m.ts';

/**
 * Fires when one entity came from over 5 distinct networks (/24, /48) in 1 h. Counts networks and not addresses, so that phones, which
 * change addresses within one network, stay quiet. Quiet on a device and a network that the account knows, half weight on one of them
 * (`account-context.ts`), because anybody can raise the number. Source of number and weight: the default rules.
 */
export const velocityEntityIps1h = withThresholds({
  code: 'velocity_entity_ips_1h',
  family: 'movement',
  weights: { default: 0.35 },
  thresholds: { networks: 5 },
  hint: 'the account is used from many networks',
  quietedBy: 'addresses of one network; a device and a network known to the account; one of them: half weight',
  evaluate({ history }, _policy, { networks }) {
    const entity = mostOf(history?.entities, 'networks1h');
    if (entity === null || !(entity.networks1h > networks)) return null;
    const scale = ownerScale(history ?? { context: null });
    if (scale === 0) return null;
    return scaledHit(
      `${entityName(entity)}: ${entity.networks1h} networks in 1 h (over ${networks})`,
      scale,
      QUIETED_BY_OWNER,
    );
  },
});
