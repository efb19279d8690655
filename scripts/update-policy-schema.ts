/**
 * Writes docs/policy.schema.json, the published schema of policy files, from the rules and the schema that validates the files. Run it from
 * the project folder after a build: `node dist/scripts/update-policy-schema.js && npm run format`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policyJsonSchema } from '../src/risk/policy/policy-schema.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(`update-policy-schema\n\nWrites docs/policy.schema.json; run it from the project folder.`);

writeFileSync(join(process.cwd(), 'docs/policy.schema.json'), `${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
