import { hash, randomBytes } from 'node:crypto';
import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

const FILE = 'node-id';
const ID = /^[0-9a-f]{32}$/;
const ID_CHARACTERS = 12;

export interface NodeIdentity {
  /** 1 to 32 letters, digits, `-` or `_`. */
  readonly id: string;
  /**
   * Identifies this data directory on this machine, 32 hex digits. Only one server can run in it, so its next run replaces the earlier one
   * at once; a copy of the directory elsewhere has another one.
   */
  readonly home: string;
}

/** Returns the identity of this node; `given` is GATEHOUSE_NODE_ID. Creates the file `node-id` in the data directory if there is none. */
export function readNodeId(dataDir: string, given: string | null): NodeIdentity {
  const file = join(dataDir, FILE);
  const kept = read(file) ?? create(file);
  const place = `${kept} ${hostname()} ${realpathSync(dataDir)} ${statSync(dataDir).ino}`;
  return { id: given ?? `node-${kept.slice(0, ID_CHARACTERS)}`, home: hash('sha256', place, 'hex').slice(0, 32) };
}

function read(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return ID.test(text) ? text : null;
  } catch {
    return null;
  }
}

function create(file: string): string {
  const id = randomBytes(16).toString('hex');
  writeFileSync(`${file}.new`, `${id}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return id;
}
