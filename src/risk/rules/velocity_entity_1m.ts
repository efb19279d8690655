import { ownerScale } from './support/account-context.ts';
import type { EntityHistory, HistoryFacts } from '../history.ts';
import { isGuessStep } from '../guess-steps.ts';
import { entityName, hit, withThresholds } from './rule.ts';

/**
 * Fires when over 20 decisions were about one entity in 60 s: no person clicks that fast. Weighs more (level `guess`) if something can be
 * guessed: on a login, checkout or payment, and on events named after passwords, codes, coupons and gift cards, if the session or the
 * address made at least half of these decisions. Keys that name no person belong on the policy's list of ignored keys. Quiet on a device
 * and a network that the account knows, if session and address made fewer than half: somebody else made the others. Source of number and
 * weight: the default rules.
 */
export const velocityEntity1m = withThresholds({
  code: 'velocity_entity_1m',
  family: 'entity_volume',
  weights: { default: 0.3, guess: 0.5 },
  thresholds: { decisions: 20 },
  hint: 'the account makes very many requests',
  quietedBy: 'ignored keys; a device and a network known to the account that made under half of them',
  evaluate({ eventType, history }, _policy, { decisions }) {
    const entity = mostOf(history?.entities, 'decisions1m');
    if (entity === null || !(entity.decisions1m > decisions)) return null;
    const isOthers = history !== null && isOthersWork(history, entity);
    if (isOthers && ownerScale(history) === 0) return null;
    const evidence = `${entityName(entity)}: ${entity.decisions1m} decisions in 1 min (over ${decisions})`;
    return isGuessStep(eventType) && !isOthers
      ? hit(`${evidence}, where a code can be guessed`, 'guess')
      : hit(evidence);
  },
});

function isOthersWork(history: HistoryFacts, { decisions1m }: EntityHistory): boolean {
  const own = Math.max(history.session.decisions1m, history.ip?.decisions1m ?? 0);
  return own * 2 < decisions1m;
}

/** The counts of an entity. */
type Count = 'decisions1m' | 'payments1h' | 'devices24h' | 'networks1h' | 'countries24h';

/** Returns the entity with the largest count, the first on a tie; null without entities. */
export function mostOf(entities: readonly EntityHistory[] = [], count: Count): EntityHistory | null {
  let most: EntityHistory | null = null;
  for (const entity of entities) if (most === null || entity[count] > most[count]) most = entity;
  return most;
}
