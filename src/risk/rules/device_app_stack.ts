import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent has the form of a program and names neither a browser nor any known app stack, library, crawler or tool, such
 * as `shop-ios/7.1`. Mostly the customer's own app, whose agent nobody has listed; a script may send such a text as well. Quiet for the
 * stacks that `agent.ts` knows. Choice of the weight: like a missing language; it challenges nobody, alone or with another weak signal.
 */
export const deviceAppStack: Rule = {
  code: 'device_app_stack',
  family: 'client',
  weights: { default: 0.1 },
  hint: 'the user agent is that of an unknown program, such as an app',
  quietedBy: 'browsers; HTTP stacks of apps and games that are known',
  evaluate: ({ agent }) => (agent !== null && agent.appStack !== null ? hit(agent.appStack) : null),
};
