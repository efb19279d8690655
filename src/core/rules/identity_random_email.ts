import { hit, type Rule } from '../rule.ts';

/**
 * Fires when the local part of an entity's e-mail looks generated; `looksGenerated` says by which measure. Quiet for forwarding
 * services, whose addresses are generated for honest people, and for tags behind a `+`. Source of the weight: the default rules.
 */
export const identityRandomEmail: Rule = {
  code: 'identity_random_email',
  family: 'identity',
  weights: { default: 0.2 },
  hint: 'the e-mail address looks generated',
  evaluate({ emails }) {
    const email = emails.find(({ generated }) => generated);
    return email === undefined ? null : hit(email.local);
  },
};
