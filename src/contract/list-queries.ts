import * as z from 'zod';
import { LISTS_PAGE_ROWS_DEFAULT } from '../kernel/limits.ts';
import { LIST_KIND, LIST_VALUE, PAGE, pageLimit } from './parameters.ts';
import { LIST_ACTIONS } from './vocabulary.ts';

export const USAGE = z
  .boolean('This must be true or false.')
  .default(false)
  .meta({ description: 'Adds day to each row; a page then has at most 100 rows' });

/** The query parameters of the endpoints of lists. */
export const LIST_QUERIES = {
  listEntries: {
    ...PAGE,
    limit: pageLimit(LISTS_PAGE_ROWS_DEFAULT),
    usage: USAGE,
    action: z
      .enum(LIST_ACTIONS, 'This must be block, allow or watch.')
      .optional()
      .meta({ description: 'Only entries with this action' }),
    kind: LIST_KIND.optional().meta({ description: 'Only entries of this kind' }),
  },
  listNamedItems: { ...PAGE, limit: pageLimit(LISTS_PAGE_ROWS_DEFAULT) },
  removeEntryByQuery: { kind: LIST_KIND, value: LIST_VALUE },
  putEntries: {
    dry_run: z
      .boolean('This must be true or false.')
      .default(false)
      .meta({ description: 'Validates the entries and returns what would change; writes nothing' }),
  },
};
