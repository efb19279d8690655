import { hit, withThresholds } from './rule.ts';

/** Source: the default rules: a domain is new for 3 days. Choice: only for a customer that had collected domains for at least as long. */
const NEW_SECONDS = 3 * 86_400;

/**
 * Fires on a sign-up whose e-mail is at a domain that the customer first saw under 3 days ago, when 5 or more networks have signed up with
 * it since: a farm with its own domains.
 *
 * Quiet for domains that were first seen in a customer's first 3 days, when every domain is new, and for a company or a school that signs
 * up behind one address. Source of numbers and weight: the default rules.
 */
export const emailNewDomainSurge = withThresholds({
  code: 'email_new_domain_surge',
  family: 'identity',
  weights: { default: 0.5 },
  thresholds: { networks: 5 },
  hint: 'many accounts are opened at a mail domain that is new to the customer',
  quietedBy: "domains first seen in the customer's first 3 days; one address",
  evaluate({ eventType, history }, _policy, { networks }) {
    const domain = history?.crowd?.mailDomain ?? null;
    if (domain === null || eventType !== 'signup' || !(domain.networks3d >= networks)) return null;
    if (domain.knownForSeconds >= NEW_SECONDS || domain.customerAgeThenSeconds < NEW_SECONDS) return null;
    const hours = Math.floor(domain.knownForSeconds / 3_600);
    return hit(
      `sign-ups from ${domain.networks3d} networks at a mail domain first seen ${hours} h ago (${networks} or more)`,
    );
  },
});
