import { hit, type Rule } from './rule.ts';

/**
 * Fires for a token without a grant if the policy has `grant: "required"`: the customer's own session id, an `st1.` token, or one that
 * cannot be read. Then nothing shows that a page of the customer made the token. Off by default, because it also meets people who block
 * scripts, apps that send their own session id, and pages whose collector could not fetch a grant; nothing depends on their share.
 * Choice of the weight: watched, and challenged together with any other evidence of .25.
 */
export const tokenWithoutGrant: Rule = {
  code: 'token_without_grant',
  family: 'token',
  weights: { default: 0.35 },
  hint: 'nothing shows that a page of the shop made the session token',
  quietedBy: 'the policy does not have grant: required, as by default; tokens with a grant',
  evaluate: ({ token, grant }, policy) =>
    policy.grant === 'required' && grant === null && token.kind !== 'none'
      ? hit(`${kindOf(token.kind)} without a grant`)
      : null,
};

function kindOf(kind: 'opaque' | 'collector'): string {
  return kind === 'opaque' ? 'an opaque token' : 'a collector token';
}
