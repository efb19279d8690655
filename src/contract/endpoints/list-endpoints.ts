import { body, type EndpointTexts, json, noContent, reads, writes, writesBody } from '../endpoint.ts';
import { FINGERPRINT_HASH, LIST_KIND, LIST_VALUE } from '../parameters.ts';
import { QUERIES } from '../routes.ts';
import { LIST_BATCH, LIST_CHANGE } from '../requests/list-requests.ts';
import { CANDIDATE_PAGE, LIST_BATCH_RESULT, LIST_ENTRY, LIST_PAGE } from '../responses/list-responses.ts';

export const LIST_ENDPOINTS = {
  listEntries: {
    tag: 'lists',
    summary: "The caller's own entries",
    description:
      'With usage=true each entry has day: the decisions of the last 24 hours with its fingerprint. They are counted in one pass ' +
      'over the newest 100,000 decisions, whatever the number of rows.',
    guide:
      '200 with a page, by default of 1,000; entries of one kind are together. Filters: `?action=`, `?kind=`. `?usage=true` adds the ' +
      'use of each fingerprint in the last 24 hours, for at most 100 rows',
    query: QUERIES.listEntries,
    responses: { 200: json(LIST_PAGE, 'A page of entries', ['X-SVC-Partial']) },
    problems: reads(),
  },
  putEntry: {
    tag: 'lists',
    summary: 'Add an entry, or replace the entry of the same value',
    description:
      'After a 2xx response, every later decide uses the change. The answer has usage: what the entry would have concerned in the last ' +
      '24 hours; null for kinds that decisions do not keep.',
    guide:
      'Body: `kind` and `value`, or `fingerprint_hash`; `action`, and optionally `note`, `expires_at`, `event_types` and `confirm`. 201 ' +
      'with the entry, or 200 if it replaces an entry; all fields are replaced. 409 `confirm_required` without `"confirm": true` if it ' +
      "would have concerned over 25 % of the day's sessions",
    body: body(LIST_CHANGE),
    responses: {
      200: json(LIST_ENTRY, 'The entry replaced one', ['X-SVC-Partial']),
      201: json(LIST_ENTRY, 'The entry is new', ['X-SVC-Partial']),
    },
    problems: writesBody('limit_reached', 'confirm_required'),
  },
  putEntries: {
    tag: 'lists',
    summary: 'Up to 1,000 entries at once',
    description:
      'All valid entries are written in one transaction, even if others are invalid. If two entries name the same ' +
      'fingerprint, the later one counts. With dry_run=true nothing is written: each valid entry has change and before.',
    guide:
      'Body: `{"entries":[…]}` or the array alone, up to 1,000 (more gives 422). 200 with a result for each entry, in ' +
      'order. `?dry_run=true` returns what would change and writes nothing',
    query: QUERIES.putEntries,
    body: body(LIST_BATCH),
    responses: { 200: json(LIST_BATCH_RESULT, 'The result of each entry, in order', ['X-SVC-Partial']) },
    problems: writesBody('limit_reached'),
  },
  searchCandidates: {
    tag: 'lists',
    summary: "Fingerprints of the caller's own recent flagged decisions, one row per fingerprint, newest first",
    description:
      'Covers the newest 100,000 flagged decisions (every value except ALLOW) at the time of the first page; decisions ' +
      'without a fingerprint are omitted. While too many searches are running, the response is 429 with the code overloaded.',
    guide:
      '200 with a page of fingerprints to add, see below. `?decision=` and `?q=` as for [decisions](#decisions), ' +
      '`?usage=true` as for the list',
    query: QUERIES.searchCandidates,
    responses: { 200: json(CANDIDATE_PAGE, 'A page of candidates', ['X-SVC-Partial']) },
    problems: reads(),
  },
  findEntry: {
    tag: 'lists',
    summary: "One of the caller's own entries of fingerprints",
    guide: '200 with the entry, or 404',
    params: { fingerprint_hash: FINGERPRINT_HASH },
    responses: { 200: json(LIST_ENTRY, 'The entry') },
    problems: reads('not_found'),
  },
  removeEntry: {
    tag: 'lists',
    summary: "Remove the caller's own entry of a fingerprint",
    description: 'Never changes the shared registry.',
    guide: '204, or 404. The registry is not changed',
    params: { fingerprint_hash: FINGERPRINT_HASH },
    responses: { 204: noContent('The entry is removed') },
    problems: writes('not_found'),
  },
  removeEntryByQuery: {
    tag: 'lists',
    summary: "Remove the caller's own entry of a value",
    guide: '204, or 404. `?kind=` and `?value=`: for values that a path cannot hold',
    query: QUERIES.removeEntryByQuery,
    responses: { 204: noContent('The entry is removed') },
    problems: writes('not_found'),
  },
  findValueEntry: {
    tag: 'lists',
    summary: "One of the caller's own entries, by its kind and value",
    guide: '200 with the entry, or 404. The value is percent-encoded once',
    params: { kind: LIST_KIND, value: LIST_VALUE },
    responses: { 200: json(LIST_ENTRY, 'The entry') },
    problems: reads('not_found'),
  },
  removeValueEntry: {
    tag: 'lists',
    summary: "Remove the caller's own entry, by its kind and value",
    guide: '204, or 404. The value is percent-encoded once',
    params: { kind: LIST_KIND, value: LIST_VALUE },
    responses: { 204: noContent('The entry is removed') },
    problems: writes('not_found'),
  },
} satisfies EndpointTexts;
