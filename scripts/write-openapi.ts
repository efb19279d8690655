/**
 * Writes docs/openapi.json, the tables of calls in docs/api.md and the types of the client out of the table of endpoints in src/contract.
 * Run it from the project's folder: `npm run write:openapi`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withEndpointTables } from '../src/contract/api-tables.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { clientTypes, type ApiDocument } from './client-types.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(
  `write-openapi\n\nWrites docs/openapi.json, the tables of docs/api.md and src/client/api-types.ts; run it from the project's folder.`,
);

const API = join(process.cwd(), 'docs/api.md');

const { version } = JSON.parse(readFileSync(join(process.cwd(), 'package.json'), 'utf8')) as { version: string };
const document = JSON.stringify(openApiDocument(version), null, 2);
writeFileSync(join(process.cwd(), 'docs/openapi.json'), `${document}\n`);
writeFileSync(join(process.cwd(), 'src/client/api-types.ts'), clientTypes(JSON.parse(document) as ApiDocument));
writeFileSync(API, withEndpointTables(readFileSync(API, 'utf8')));
