import { ownerScale, QUIETED_BY_OWNER } from './support/account-context.ts';
import { entityName, scaledHit, withThresholds } from './rule.ts';
import { mostOf } from './velocity_entity_1m.ts';

/**
 * Fires when one entity came from over 3 countries in 24 h. Quiet without a country database. Quiet on a device and a network that the
 * account knows, half weight on one of them (`account-context.ts`), because anybody can raise the number. Source of number and weight: the
 * default rules; a traveller who changes planes, with a VPN at home, sees 3.
 */
export const velocityEntityCountries24h = withThresholds({
  code: 'velocity_entity_countries_24h',
  family: 'movement',
  weights: { default: 0.3 },
  thresholds: { countries: 3 },
  hint: 'the account is used from many countries',
  quietedBy: 'no country database; a device and a network known to the account; one of them: half weight',
  evaluate({ history }, _policy, { countries }) {
    const entity = mostOf(history?.entities, 'countries24h');
    if (entity === null || !(entity.countries24h > countries)) return null;
    const scale = ownerScale(history ?? { context: null });
    if (scale === 0) return null;
    return scaledHit(
      `${entityName(entity)}: ${entity.countries24h} countries in 24 h (over ${countries})`,
      scale,
      QUIETED_BY_OWNER,
    );
  },
});
