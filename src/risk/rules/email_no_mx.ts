import { hit, type Rule } from './rule.ts';

/**
 * Fires on a sign-up when the domain of an e-mail receives no mail, so that nobody can confirm the address. Quiet until
 * the domain was looked up, which happens beside the decisions: the second sign-up of a domain sees it. Choice: it weighs nothing until a
 * policy gives it a weight, because a name server can be wrong for an hour; the proposed one challenges only beside other evidence.
 */
export const emailNoMx: Rule = {
  code: 'email_no_mx',
  family: 'identity',
  weights: { default: 0 },
  proposedWeight: 0.35,
  hint: 'the domain of the e-mail address receives no mail',
  quietedBy: 'a domain that was not looked up',
  evaluate: ({ deadMailDomain = null }) => (deadMailDomain === null ? null : hit(deadMailDomain.slice(0, 200))),
};
