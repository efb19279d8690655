/**
 * Writes docs/openapi.json and the tables of calls in docs/api.md out of the table of endpoints in src/contract. Run it from the
 * project's folder: `npm run write:openapi`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withEndpointTables } from '../src/contract/api-tables.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(
  `write-openapi\n\nWrites docs/openapi.json and the tables of docs/api.md; run it from the project's folder.`,
);

const API = join(process.cwd(), 'docs/api.md');

const { version } = JSON.parse(readFileSync(join(process.cwd(), 'package.json'), 'utf8')) as { version: string };
writeFileSync(join(process.cwd(), 'docs/openapi.json'), `${JSON.stringify(openApiDocument(version), null, 2)}\n`);
writeFileSync(API, withEndpointTables(readFileSync(API, 'utf8')));
