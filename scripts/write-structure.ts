/** Writes the tables of folders in README.md and docs/architecture.md. Run it from the project's folder: `npm run write:structure`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withRooms } from './rooms.ts';
import { helpIfAsked } from './usage.ts';

helpIfAsked(
  `write-structure\n\nWrites the tables of folders in README.md and docs/architecture.md; run it from the project's folder.`,
);

for (const page of ['README.md', 'docs/architecture.md']) {
  const file = join(process.cwd(), page);
  writeFileSync(file, withRooms(readFileSync(file, 'utf8')));
}
