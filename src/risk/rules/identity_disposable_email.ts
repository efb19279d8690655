import { hit, type Rule } from './rule.ts';

/**
 * Fires when an entity is an e-mail at a disposable domain or at a subdomain of one. Quiet for forwarding services, which hide a permanent
 * mailbox (Apple's Hide My Email, mozmail, duck.com, …). Source of the weights: the default rules; higher on sign-up, where such addresses
 * open accounts in bulk.
 */
export const identityDisposableEmail: Rule = {
  code: 'identity_disposable_email',
  family: 'identity',
  weights: { default: 0.45, signup: 0.6 },
  hint: 'the e-mail address is a disposable one',
  quietedBy: 'forwarding services',
  evaluate({ emails, eventType }) {
    const email = emails.find(({ disposable }) => disposable);
    if (email === undefined) return null;
    return hit(email.domain.slice(0, 200), eventType === 'signup' ? 'signup' : undefined);
  },
};
