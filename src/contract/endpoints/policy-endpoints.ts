import { body, type EndpointTexts, json, noContent, optionalBody, reads, writes, writesBody } from '../endpoint.ts';
import { BACKTEST_ID, IF_MATCH, RULE_CODE } from '../parameters.ts';
import { ANY_OBJECT } from '../requests/webhook-requests.ts';
import { BODY_PROBLEMS } from '../problem-table.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';
import { BACKTEST_JOB, BACKTEST_STARTED } from '../responses/backtest-responses.ts';
import { CHALLENGER_COUNTS, POLICY, POLICY_HISTORY, RULE_COUNTS } from '../responses/policy-responses.ts';
import { CHECKED_RULE, FACT_LIST, OWN_RULE, OWN_RULE_LIST } from '../responses/rule-responses.ts';

export const POLICY_ENDPOINTS = {
  readPolicy: {
    tag: 'policy',
    summary: "The policy as it applies to the caller's own decisions",
    description:
      "Settings of the policy file for all customers and for this one; never those of another customer. The challenger's " +
      'differences are from this policy.',
    guide:
      '200 with bands by event type, every rule with its weights and thresholds, and what the challenger differs in',
    responses: { 200: json(POLICY, 'The policy') },
    problems: reads(),
  },
  listPolicyHistory: {
    tag: 'policy',
    summary: "The newest policies that applied to the caller's own decisions, and what each of them changed",
    description:
      'At most 16 policies, the present one included; they survive a restart. A change of the file that changes nothing for this ' +
      'customer has no differences.',
    guide: '200 with `{"data": […]}`, newest first, at most 16 policies with their differences from the one before',
    responses: { 200: json(POLICY_HISTORY, 'The policies') },
    problems: reads(),
  },
  readRuleCounts: {
    tag: 'policy',
    summary: "What each rule did in the caller's own decisions, and how people judged them",
    description:
      'hits come from the statistics, in whole hours. Everything else comes from the newest 100,000 decisions of the range, of ' +
      'which at most 20,000 flagged ones: decisive are those that would be milder without the reason, by the policy of their ' +
      'time. The labels are the newest 5,000, the verdicts those of the newest 10,000 rows of the review queue. While too many ' +
      'searches are running, the response is 429 with the code overloaded.',
    guide:
      '`?from=` and `?to=` in Unix seconds, by default the last 24 hours. 200 with hits, decisive hits, labels, verdicts and ' +
      'precision of each rule',
    query: QUERIES.readRuleCounts,
    responses: { 200: json(RULE_COUNTS, 'The counts', ['X-SVC-Partial']) },
    problems: reads(),
  },
  readChallenger: {
    tag: 'policy',
    summary: "How the challenger's policy decides differently",
    description:
      'Covers the newest 100,000 decisions since the present policy applies. While too many searches are running, the response ' +
      'is 429 with the code overloaded.',
    guide: '200 with a matrix of decisions and the decisions of the challenger, and up to 20 examples of each pair',
    responses: { 200: json(CHALLENGER_COUNTS, 'The matrix', ['X-SVC-Partial']) },
    problems: reads(),
  },
  startBacktest: {
    tag: 'policy',
    summary: 'Try a policy or rules on the past',
    description:
      'Decides the logged requests of this node again, under the present policy and under the given one, in a separate process. ' +
      'Without logged requests (log_requests in the policy file) the result is an approximation. A restart forgets it.',
    guide:
      'Body: `policy` (the content of a policy file), `rules` (instead of those of the API), `since`, `until`, in Unix seconds. 202 with ' +
      '`{"id","status"}`; 409 `limit_reached` while two of yours have not ended; 422 with the position of each error',
    body: body(BODIES.startBacktest),
    responses: { 202: json(BACKTEST_STARTED, 'The backtest is queued or runs') },
    problems: reads(...BODY_PROBLEMS, 'limit_reached'),
  },
  findBacktest: {
    tag: 'policy',
    summary: 'A backtest and its result',
    guide: '200 with status, progress and, when it has ended, the matrix of decisions, people and examples; or 404',
    params: { id: BACKTEST_ID },
    responses: { 200: json(BACKTEST_JOB, 'The backtest') },
    problems: reads('not_found'),
  },
  cancelBacktest: {
    tag: 'policy',
    summary: 'Cancel a backtest',
    description: 'What was decided until then becomes its result. No effect on one that has ended.',
    guide: '200 with the backtest, or 404. Needs no body',
    params: { id: BACKTEST_ID },
    body: { ...optionalBody(ANY_OBJECT), described: false },
    responses: { 200: json(BACKTEST_JOB, 'The backtest') },
    problems: reads('not_found', 'malformed_json', 'unsupported_media_type'),
  },
  listRules: {
    tag: 'policy',
    summary: "The caller's own rules: those of the policy file and those of the API",
    description:
      'Each code of the policy file once, then the rules of the API by their codes, all at once. Their counts come from the newest ' +
      '100,000 decisions of 24 hours. While too many searches are running, the response is 429 with the code overloaded.',
    guide:
      '200 with `{"data": […]}`: all rules of the policy file and of the API, with `fired_24h`, `observed_24h` and `people_24h`',
    responses: { 200: json(OWN_RULE_LIST, 'The rules', ['X-SVC-Partial']) },
    problems: reads(),
  },
  findRule: {
    tag: 'policy',
    summary: 'One of your own rules',
    guide: '200 with the rule and its `ETag`, or 404',
    params: { code: RULE_CODE },
    responses: { 200: json(OWN_RULE, 'The rule', ['ETag']) },
    problems: reads('not_found'),
  },
  putRule: {
    tag: 'policy',
    summary: 'Write one of your own rules',
    description:
      'Replaces the whole rule. It counts for the next decision, on every node. At most 200 rules of the API, and 20,000 steps ' +
      'of their conditions together.',
    guide:
      'Body: `when`, either `weight` or `decision`, and optionally `mode`, `event_types`, `note` and `expires_at`. 201 or 200 with ' +
      'the rule and its `ETag`; 409 `rule_in_policy` if the policy file has the code; 412 if `If-Match` has another `ETag`; 422 ' +
      'with line and column of each error of the condition',
    params: { code: RULE_CODE },
    headers: { 'If-Match': IF_MATCH },
    body: body(BODIES.putRule),
    responses: {
      200: json(OWN_RULE, 'The rule is replaced', ['ETag']),
      201: json(OWN_RULE, 'The rule is new', ['ETag']),
    },
    problems: writesBody('rule_in_policy', 'limit_reached', 'precondition_failed'),
  },
  changeRule: {
    tag: 'policy',
    summary: 'Change one of your own rules',
    description: 'As PUT, for the given fields.',
    guide: 'Body: any field of `PUT`. 200 with the rule and its `ETag`, 404, 409, 412 or 422',
    params: { code: RULE_CODE },
    headers: { 'If-Match': IF_MATCH },
    body: body(BODIES.changeRule),
    responses: { 200: json(OWN_RULE, 'The rule is changed', ['ETag']) },
    problems: writesBody('not_found', 'rule_in_policy', 'precondition_failed'),
  },
  deleteRule: {
    tag: 'policy',
    summary: 'Delete one of your own rules',
    guide: '204, 404, 409 `rule_in_policy` for a rule that only the policy file has, or 412',
    params: { code: RULE_CODE },
    headers: { 'If-Match': IF_MATCH },
    responses: { 204: noContent('The rule is deleted') },
    problems: writes('not_found', 'rule_in_policy', 'precondition_failed'),
  },
  listFacts: {
    tag: 'policy',
    summary: 'The facts that conditions of your own rules may read',
    description: "With the attributes that the policy declares for the caller's decisions.",
    guide: '200 with `{"data": [{"name","type","unit"?,"meaning","absent_when"}]}`',
    responses: { 200: json(FACT_LIST, 'The facts') },
    problems: reads(),
  },
  checkRule: {
    tag: 'policy',
    summary: 'Check a condition; stores nothing',
    description: 'Each error has its line and column, and the nearest right name if there is one.',
    guide:
      'Body: `{"when","sample"?,"event_types"?}`. 200 with `{"ok": true,"type","facts","cost"}`, with `"sample": true` also what it matches ' +
      'of the newest 1,000 decisions; or 422 with an error for each place',
    body: body(BODIES.checkRule),
    responses: { 200: json(CHECKED_RULE, 'The condition can be used', ['X-SVC-Partial']) },
    problems: reads(...BODY_PROBLEMS),
  },
} satisfies EndpointTexts;
