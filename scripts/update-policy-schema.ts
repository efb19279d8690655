/**
 * Writes docs/policy.schema.json, the published form of policy files, out of the rules and the schema that files are checked
 * with. Run it from the project's folder, built: `node dist/scripts/update-policy-schema.js && npm run format`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policyJsonSchema } from '../src/core/policy-schema.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(`update-policy-schema\n\nWrites docs/policy.schema.json; run it from the project's folder.`);

writeFileSync(join(process.cwd(), 'docs/policy.schema.json'), `${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
