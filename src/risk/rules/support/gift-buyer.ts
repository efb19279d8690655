import { VELOCITY_SETTLED_SECONDS } from '../../../kernel/velocity-limits.ts';
import type { HistoryFacts } from '../../history.ts';

/** Choice: twenty presents in an hour. A thief with an old account has as many tries an hour at a code. */
export const GIFTS_MAX = 20;
const CARDS_MAX = 2;

/**
 * Returns whether the session's payments are all of one account that has been known for a week, with one card, or a second one because one
 * in ten is declined: somebody buys several gifts. The age costs a thief a week for each account, which then tests two cards a day. False
 * without a card in the request.
 */
export function isGiftBuyer({ session, entities, values }: HistoryFacts): boolean {
  if (values === null || values.ofActor24h > CARDS_MAX || session.payments1h >= GIFTS_MAX) return false;
  return entities.some(
    ({ isNew, knownForSeconds, payments1h }) =>
      !isNew &&
      knownForSeconds >= VELOCITY_SETTLED_SECONDS &&
      payments1h >= session.payments1h &&
      payments1h < GIFTS_MAX,
  );
}
