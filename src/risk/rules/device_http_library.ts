import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent is the default of an HTTP library or command-line tool (curl, python-requests, Go-http-client, axios, …). Quiet
 * for okhttp, CFNetwork and Dart: mobile apps use them. Source of the weight: the default rules.
 */
export const deviceHttpLibrary: Rule = {
  code: 'device_http_library',
  family: 'client',
  weights: { default: 0.62 },
  hint: 'the client is an HTTP library, not a browser',
  quietedBy: 'okhttp, CFNetwork, Dart and other HTTP stacks of apps',
  evaluate: ({ agent }) => (agent !== null && agent.httpLibrary !== null ? hit(agent.httpLibrary) : null),
};
