import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Build {
  /** Path of its command line. */
  readonly main: string;
  readonly version: string;
  remove(): void;
}

/** Occurs once in the bundle: see src/state/feed/change-formats.ts. */
const LIST_PUT = '"list.put": LISTED,';
/** Version 3 has a field that older builds do not know. */
const LIST_PUT_3 = `"list.put": {
  version: 3,
  up: { ...LISTED.up, 2: (fields) => ({ ...fields, madeBy: "an older build" }) },
  down: { ...LISTED.down, 3: ({ madeBy, ...fields }) => fields },
},`;

/**
 * Makes a copy of the built program as its next version would be: with another version, and with version 3 of the change `list.put`.
 * Everything else is as in this build.
 */
export function newerBuild(): Build {
  const version = '99.0.0';
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-newer-'));
  const app = join(folder, 'dist/app');
  mkdirSync(app, { recursive: true });
  cpSync(join(ROOT, 'dist/app'), app, { recursive: true, filter: (path) => !path.endsWith('.map') });
  symlinkSync(join(ROOT, 'dist/web'), join(folder, 'dist/web'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  let changed = 0;
  for (const name of readdirSync(app).filter((file) => /\.c?js$/.test(file))) {
    const text = readFileSync(join(app, name), 'utf8');
    if (!text.includes(LIST_PUT)) continue;
    writeFileSync(join(app, name), text.replace(LIST_PUT, LIST_PUT_3));
    changed++;
  }
  if (changed !== 1) throw new Error(`${changed} files of the bundle contain ${LIST_PUT}`);
  return { main: join(app, 'main.js'), version, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
