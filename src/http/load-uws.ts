import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { TRANSPORT_HEADER_BYTES_MAX } from '../kernel/limits.ts';
import { repairBinary, UWS_BINARIES } from './uws-binaries.ts';
import type { UwsModule } from './uws-types.ts';

export type LoadedUws =
  | { readonly kind: 'loaded'; readonly uws: UwsModule }
  /** `detail` appears in the log and in /readyz. */
  | { readonly kind: 'unavailable'; readonly detail: string };

let outcome: LoadedUws | null = null;

/**
 * Loads uWebSockets.js for this platform and Node.js version once, or reports why it is unavailable. Never throws. A copy of the binary is
 * needed for a moment: in the system's temporary folder, or else in the data directory, which a container with a read-only root can write.
 */
export function loadUws(dataDir?: string): LoadedUws {
  return (outcome ??= tryLoad(dataDir));
}

function tryLoad(dataDir: string | undefined): LoadedUws {
  const target = `${process.platform}-${process.arch}-${process.versions.node.split('.')[0] ?? ''}`;
  const expected = UWS_BINARIES[target];
  if (expected === undefined) return unavailable(`there is no uWebSockets.js binary for ${target}`);
  const require = createRequire(import.meta.url);
  const name = `uWebSockets.js-${target}`;
  let file: string;
  try {
    file = require.resolve(`${name}/uws.node`);
  } catch {
    return unavailable(`${name} is not installed`);
  }
  try {
    const bytes = readFileSync(file);
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== expected.sha256 || !repairBinary(bytes, expected.edits)) {
      return unavailable(`the binary of ${name} is not the expected one`);
    }
    // uWebSockets.js reads this once, when the binary is loaded: the maximum header size that its parser accepts, bytes.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(TRANSPORT_HEADER_BYTES_MAX);
    // Each may be read-only or mounted noexec. The directory of the installed binary at least allows execution.
    for (const parent of [tmpdir(), ...(dataDir === undefined ? [] : [dataDir]), dirname(file)]) {
      const uws = loadFrom(parent, bytes);
      if (uws !== null) return { kind: 'loaded', uws };
    }
    return unavailable(`${name} does not load: ${lastFault}`);
  } catch (error) {
    return unavailable(`${name} does not load: ${firstLine(error)}`);
  }
}

let lastFault = '';

/** Loads a copy from a directory that no other user can write to, and removes it. The loaded pages stay in memory. */
function loadFrom(parent: string, bytes: Buffer): UwsModule | null {
  let folder: string | null = null;
  try {
    folder = mkdtempSync(join(parent, 'gatehouse-uws-'));
    const copy = join(folder, 'uws.node');
    writeFileSync(copy, bytes, { mode: 0o700 });
    const loaded: { exports: unknown } = { exports: {} };
    process.dlopen(loaded, copy);
    return loaded.exports as UwsModule;
  } catch (error) {
    lastFault = firstLine(error);
    return null;
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true });
  }
}

function unavailable(detail: string): LoadedUws {
  return { kind: 'unavailable', detail };
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // A loader error contains the full path of the file, which does not belong in a response.
  return (text.split('\n')[0] ?? '').replaceAll(/\/\S*\/uws\.node/g, 'uws.node');
}
