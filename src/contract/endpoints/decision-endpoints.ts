import { CORS_HEADERS } from '../headers.ts';
import { BODY_PROBLEMS, COMMON_PROBLEMS } from '../problem-table.ts';
import { body, type EndpointText, type EndpointTexts, json, reads } from '../endpoint.ts';
import { FINGERPRINT_HASH, REQUEST_ID, DECIDE_IDEMPOTENCY_KEY } from '../parameters.ts';
import { QUERIES } from '../routes.ts';
import { DECIDE_REQUEST } from '../requests/decide-request-schema.ts';
import { OUTCOME_BODY } from '../requests/judgement-requests.ts';
import {
  DECISION,
  EXPLAINED_DECISION,
  LOGGED_DECISION_PAGE,
  PERSON_EXPLANATION,
  SIMULATION,
} from '../responses/decision-responses.ts';
import { FINGERPRINT, LINK_SUMMARY } from '../responses/link-responses.ts';
import { TOP } from '../responses/top-responses.ts';
import { STATS } from '../responses/stats-responses.ts';
import { OUTCOME_RESULT } from '../responses/judgement-responses.ts';

export const DECIDE_ENDPOINT = {
  decide: {
    tag: 'decisions',
    summary: 'Decide about one request',
    description: 'Signed with four headers, see signing.md. The body may have at most 65,536 bytes.',
    headers: { 'Idempotency-Key': DECIDE_IDEMPOTENCY_KEY },
    body: body(DECIDE_REQUEST),
    responses: { 200: json(DECISION, 'A decision', [...CORS_HEADERS, 'Idempotent-Replayed']) },
    problems: ['malformed_json', 'too_many_members', 'key_not_allowed', 'test_outage', ...COMMON_PROBLEMS],
  },
} satisfies EndpointTexts;

const GATE_TEXT = {
  tag: 'decisions',
  summary: 'Whether a proxy lets a request of a visitor pass',
  description:
    'With a valid key of the scope `gate` the status is 204, 401 or 403 and nothing else; overload, limits and errors are 204 with ' +
    '`X-Gatehouse-Failed-Open`. docs/gate.md has the settings of proxies.',
  guide: '204, 401 or 403 with `X-Gatehouse-Decision`, for proxies; see [gate.md](gate.md)',
  responses: {
    204: {
      description: 'The visitor passes',
      headers: ['X-Gatehouse-Decision', 'X-Gatehouse-Failed-Open', 'Set-Cookie'],
    },
    401: {
      description: 'SOFT_CHALLENGE: the visitor is to be sent to Location',
      headers: ['X-Gatehouse-Decision', 'Location', 'Set-Cookie'],
    },
  },
  problems: ['key_not_allowed', 'method_not_allowed', 'role_not_served'],
  problemTexts: { 403: 'BLOCK, with X-Gatehouse-Decision and without a body; or key_not_allowed, without this header' },
} satisfies EndpointText;

export const GATE_ENDPOINTS = { askGate: GATE_TEXT, postToGate: GATE_TEXT } satisfies EndpointTexts;

export const DECISION_ENDPOINTS = {
  searchDecisions: {
    tag: 'decisions',
    summary: "The caller's own decisions, newest first",
    description:
      'Flagged decisions (every value except ALLOW) are kept for 30 days, ALLOW for 24 hours, at most 1,000,000 per customer. ' +
      'A call examines at most 100,000 decisions, so a page of a search may be short, or even empty, although has_more is ' +
      'true. With after, only decisions that were logged after a known one are returned, which is cheap while there are none: to ' +
      'follow the log, ask again with the newest request_id. While too many searches are running, the response is 429 with the code overloaded.',
    guide:
      '200 with a page, newest first. Filters, all of which apply together: `?decision=`, `?q=` (part of an address, a country or ' +
      'a reason), `?since=`, `?until=` (Unix seconds), `?event_type=`, `?reason=`, `?score_min=`, `?score_max=`, `?asn=`, `?path=` (its beginning), `?email_domain=`, ' +
      '`?fingerprint_hash=`, `?link=<kind>:<value>`, `?after=<request_id>` (logged after that decision, or 404)',
    query: QUERIES.searchDecisions,
    responses: { 200: json(LOGGED_DECISION_PAGE, 'A page of decisions', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  findDecision: {
    tag: 'decisions',
    summary: "One of the caller's own decisions",
    description:
      'Available as soon as the decision was answered. Beyond the fields of a page it has what the decision follows from, fused ' +
      'again from the stored evidence: the step of each family, the score and the decision without each reason, and the bands of ' +
      'the policy that applied. The newest 16 policies are kept.',
    guide: '200 with the decision and what it follows from, or 404',
    params: { request_id: REQUEST_ID },
    responses: { 200: json(EXPLAINED_DECISION, 'The decision', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  explainToPerson: {
    tag: 'decisions',
    summary: 'A decision in sentences for the person whom it is about',
    description:
      'One sentence for the decision, and one for each kind of reason that may be named: without scores, thresholds, codes of rules and other ' +
      'people. A decision that let the request through has no reasons. If none may be named, one sentence says that details are not published.',
    guide: '`?for=person`, `?lang=` (`en`, `de`, `fr`, `es`). 200 with `decision` and `reasons` as sentences, or 404',
    params: { request_id: REQUEST_ID },
    query: QUERIES.explainToPerson,
    responses: { 200: json(PERSON_EXPLANATION, 'The explanation', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  findLinks: {
    tag: 'decisions',
    summary: "What the caller's own decisions about one identity, session, address or fingerprint have in common",
    description:
      'Covers the newest 1,000 decisions with the link; truncated is true if there are more. Lists the 100 neighbours with the ' +
      'most decisions. An identity is found by its value, but shown as a hash, unless the policy keeps values. While too many ' +
      'searches are running, the response is 429 with the code overloaded.',
    guide: '`?kind=` and `?value=`. 200 with counts and neighbours, also if there is no such decision',
    query: QUERIES.findLinks,
    responses: { 200: json(LINK_SUMMARY, 'The link and its neighbours', ['X-SVC-Partial']) },
    problems: reads(),
  },
  findFingerprint: {
    tag: 'decisions',
    summary: "What the caller's own decisions and lists know about a fingerprint",
    description:
      'Covers the newest 1,000 decisions with the fingerprint; truncated is true if there are more. An ALLOW counts for a day. ' +
      'While too many searches are running, the response is 429 with the code overloaded.',
    guide: '200 with distinct sessions, identities, addresses, networks and countries of a day and of 30 days, or 404',
    params: { fingerprint_hash: FINGERPRINT_HASH },
    responses: { 200: json(FINGERPRINT, 'The fingerprint', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  readStats: {
    tag: 'decisions',
    summary: "Counts of the caller's own requests by minute, hour or day",
    description:
      'Minutes are kept for 24 hours, hours for 30 days. Counts are those of the moment; a killed server loses up to 5 seconds. ' +
      'At most 1,440 steps.',
    guide:
      'Counts by minute (`?step=60`), hour (`3600`, the default) or day (`86400`), `?from=` and `?to=` in Unix seconds: decisions ' +
      'by value, event type, reason and score, latency, refusals by code',
    query: QUERIES.readStats,
    responses: { 200: json(STATS, 'The counts', ['X-SVC-Partial']) },
    problems: reads(),
  },
  readTop: {
    tag: 'decisions',
    summary: "The ten most frequent subjects of the caller's own decisions",
    description:
      'Covers the newest 20,000 decisions of the range; is_truncated is true if there are more. Decisions without the subject, ' +
      'such as those without a country, are not counted. While too many searches are running, the response is 429 with the code ' +
      'overloaded.',
    guide:
      '`?by=` (ip, network, fingerprint, session, identity, entity.<name>, country, event_type, reason or crawler), `?count=` (decisions, ' +
      'flagged, identities, fingerprints, addresses, networks or sessions), `?from=` and `?to=`. 200 with the ten largest',
    query: QUERIES.readTop,
    responses: { 200: json(TOP, 'The ten subjects', ['X-SVC-Partial']) },
    problems: reads(),
  },
} satisfies EndpointTexts;

export const SIMULATE_ENDPOINT = {
  simulateDecision: {
    tag: 'decisions',
    summary: 'The decision that decide would make, with what it follows from; counts, stores and sends nothing',
    description:
      'The body is that of decide, with at most 65,536 bytes. It is decided with the present lists, policy and history, as if it ' +
      'came from a secret key. request_id is the id of this call; no decision has it. The rate limit is that of management calls. ' +
      'At most 2 simulations are scored at a time and 4 of a customer may wait; above that, the response is 429 with the code ' +
      'overloaded.',
    guide:
      'Body: that of decide. 200 with the decision as in the look-up of one, without `label`. Nothing is counted, stored or sent',
    body: body(DECIDE_REQUEST),
    responses: { 200: json(SIMULATION, 'The decision that would be made') },
    problems: reads('malformed_json', 'too_many_members', 'unsupported_media_type'),
  },
} satisfies EndpointTexts;

export const OUTCOME_ENDPOINTS = {
  reportOutcomes: {
    tag: 'decisions',
    summary:
      'Report outcomes of decisions: whether the login succeeded, the card was declined, the challenge was passed',
    description:
      'One outcome, or up to 1,000 of them. The last outcome of a request counts; repeating it changes nothing. Every decide ' +
      'call after the response uses the accepted outcomes. Only for your own decisions of the last 24 hours that are still in ' +
      'the decision log. An outcome is not a label: it never feeds the registry. The rate limit is that of the key for decide, ' +
      'counted separately from decide and from other calls.',
    guide:
      'Body: `{"request_id","outcome"}`, or `{"outcomes":[…]}` with 1 to 1,000 of them. 202 with `{"accepted": n, ' +
      '"rejected": [{"index","code"}]}`',
    body: body(OUTCOME_BODY),
    responses: {
      202: json(
        OUTCOME_RESULT,
        'The number of accepted outcomes and the rejected ones; a rejected outcome does not affect the others',
      ),
    },
    // Outcomes stay in memory until they can be written, so a full disk is not a problem response.
    problems: reads(...BODY_PROBLEMS),
  },
} satisfies EndpointTexts;
