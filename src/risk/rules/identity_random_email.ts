import { hit, type Rule } from './rule.ts';

/**
 * Fires when the local part of an entity's e-mail looks generated; `looksGenerated` defines the criteria. Quiet for forwarding services,
 * which generate addresses for honest people, and for tags after a `+`. Source of the weight: the default rules.
 */
export const identityRandomEmail: Rule = {
  code: 'identity_random_email',
  family: 'identity',
  weights: { default: 0.2 },
  hint: 'the e-mail address looks generated',
  quietedBy: 'forwarding services; tags after +',
  evaluate({ emails }) {
    const email = emails.find(({ generated }) => generated);
    return email === undefined ? null : hit(email.local);
  },
};
