import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const TABLE = fileURLToPath(new URL('../../src/web/dashboard/page-table.ts', import.meta.url));

/** Ids of all pages, from the table of pages, which itself runs in browsers only. */
export const PAGE_IDS: readonly string[] = [...readFileSync(TABLE, 'utf8').matchAll(/^ {4}id: '([\w-]+)',$/gm)].map(
  ([, id = '']) => id,
);
