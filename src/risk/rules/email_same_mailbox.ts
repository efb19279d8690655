import { hit, withThresholds } from './rule.ts';

/** Source: the default rules; logins are excluded, because they open nothing and only show how somebody types the address. */
const STEPS: ReadonlySet<string> = new Set(['signup', 'checkout', 'payment']);

/**
 * Fires on a sign-up, checkout or payment when 3 or more spellings of its e-mail's mailbox were used for these in 30 days: tags after `+`,
 * dots at a provider that ignores them (`mailbox.ts`).
 *
 * Quiet for upper and lower case, and for dots at any other provider, where they make another mailbox.
 * Source of number and weight: the default rules.
 */
export const emailSameMailbox = withThresholds({
  code: 'email_same_mailbox',
  family: 'identity',
  weights: { default: 0.55 },
  thresholds: { spellings: 3 },
  hint: 'one mailbox is used under several spellings',
  quietedBy: 'upper and lower case; dots at other providers',
  evaluate({ eventType, history }, _policy, { spellings }) {
    const count = history?.crowd?.spellings30d ?? 0;
    if (!(count >= spellings) || !STEPS.has(eventType)) return null;
    return hit(`${count} spellings of one mailbox in 30 days (${spellings} or more)`);
  },
});
