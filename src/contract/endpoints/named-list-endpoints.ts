import { body, type EndpointTexts, json, noContent, reads, writes, writesBody } from '../endpoint.ts';
import { LIST_NAME } from '../parameters.ts';
import { NAMED_ITEMS_CHANGE } from '../requests/named-list-requests.ts';
import {
  NAMED_ITEM_PAGE,
  NAMED_ITEMS_CHANGED,
  NAMED_LIST,
  NAMED_LIST_LIST,
  NAMED_LIST_VERSION_LIST,
} from '../responses/named-list-responses.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';

export const NAMED_LIST_ENDPOINTS = {
  listNamedLists: {
    tag: 'lists',
    summary: 'The lists that conditions of your own rules can name',
    guide:
      '200 with `{"data": […], "items", "items_max"}`: all of them by name, with `items` and the rules in `used_by`',
    responses: { 200: json(NAMED_LIST_LIST, 'The lists') },
    problems: reads(),
  },
  putNamedList: {
    tag: 'lists',
    summary: 'Make a named list, or change its note',
    description: 'At most 100 a customer. Its kind stays: delete it to make one of another kind.',
    guide: 'Body: `kind`, and optionally `note`. 201 or 200 with the list; 422 if it exists with another kind',
    params: { name: LIST_NAME },
    body: body(BODIES.putNamedList),
    responses: { 200: json(NAMED_LIST, 'The list existed'), 201: json(NAMED_LIST, 'The list is new') },
    problems: writesBody('limit_reached'),
  },
  deleteNamedList: {
    tag: 'lists',
    summary: 'Delete a named list with its items',
    description: 'Its items count for the maximum number until they are removed, up to an hour.',
    guide: '204, 404, or 409 `in_use` while a rule names it',
    params: { name: LIST_NAME },
    responses: { 204: noContent('The list is deleted') },
    problems: writes('not_found', 'in_use'),
  },
  listNamedItems: {
    tag: 'lists',
    summary: 'The items of a named list',
    guide: '200 with a page, in no meaningful order, or 404',
    params: { name: LIST_NAME },
    query: QUERIES.listNamedItems,
    responses: { 200: json(NAMED_ITEM_PAGE, 'A page of items') },
    problems: reads('not_found'),
  },
  changeNamedItems: {
    tag: 'lists',
    summary: 'Add items to a named list, and remove some',
    description:
      'After the response every later decision uses them. Written in parts of 100: a reader may see some before the others. At most ' +
      '1,000,000 items in all lists of a customer.',
    guide:
      'Body: `add` and `remove`, up to 10,000 values together, optionally `import`; an added one may be `{"value","expires_at"}`. 200 with `{"added","removed",' +
      '"rejected": [{"index","code","pointer","message"}]}`, or 404',
    params: { name: LIST_NAME },
    body: body(NAMED_ITEMS_CHANGE),
    responses: { 200: json(NAMED_ITEMS_CHANGED, 'The numbers of items') },
    problems: writesBody('not_found', 'limit_reached'),
  },
  listNamedVersions: {
    tag: 'lists',
    summary: 'Earlier versions of a named list',
    description: 'A version is the list as it was before a write: a call, or the calls of one import.',
    guide:
      '200 with `{"data": [{"version","replaced_at","replaced_by","added","removed","restorable","reason"}]}`, at most 3, or 404',
    params: { name: LIST_NAME },
    responses: { 200: json(NAMED_LIST_VERSION_LIST, 'The versions') },
    problems: reads('not_found'),
  },
  restoreNamedList: {
    tag: 'lists',
    summary: 'Bring back an earlier version of a named list',
    description:
      'Undoes the write that replaced the version, and all later ones; this is a write like any other, so that it can be undone too. Items that ' +
      'have ended meanwhile do not come back. Written in parts of 100; if a call fails within, repeat it.',
    guide: 'Body: `version`. 200 with the list, 404, or 409 `not_restorable`',
    params: { name: LIST_NAME },
    body: body(BODIES.restoreNamedList),
    responses: { 200: json(NAMED_LIST, 'The list as it was') },
    problems: writesBody('not_found', 'not_restorable', 'limit_reached'),
  },
} satisfies EndpointTexts;
