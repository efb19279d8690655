/**
 * Writes the tables of folders in docs/architecture.md, and that of facts in docs/own-rules.md. Run it from the project's
 * folder: `npm run write:structure`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withFacts } from './facts-table.ts';
import { withRooms } from './rooms.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(
  `write-structure\n\nWrites the tables of folders in docs/architecture.md, and that of facts in docs/own-rules.md; run it from the project's folder.`,
);

for (const page of ['docs/architecture.md']) {
  const file = join(process.cwd(), page);
  writeFileSync(file, withRooms(readFileSync(file, 'utf8')));
}

const facts = join(process.cwd(), 'docs/own-rules.md');
writeFileSync(facts, withFacts(readFileSync(facts, 'utf8')));
