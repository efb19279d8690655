import { hit, type Rule } from './rule.ts';

/**
 * Fires when a collector token with a grant is decided for the second time: a page makes a new token for each form, so somebody copied it.
 * Also fires for a token that is older than the last hundred of its page. Quiet for tokens without a grant, which nothing tells apart from
 * a session that goes on, and without the velocity store.
 *
 * A backend that asks twice about one form with the same token fires it too. Source of the weight: the default rules; a challenge, since a
 * copied token is evidence and no proof.
 */
export const tokenReplayed: Rule = {
  code: 'token_replayed',
  family: 'token',
  weights: { default: 0.6 },
  hint: 'the session token was used before',
  quietedBy: 'tokens without a grant',
  evaluate: ({ grant, history }) =>
    grant !== null && history?.isTokenReplayed === true ? hit('the token was decided before') : null,
};
