import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TRANSPORT_HEADER_BYTES_MAX } from '../limits.ts';
import type { UwsModule } from './uws-types.ts';

/**
 * SHA-256 of the native file of each package that package.json names. The packages repeat the project's official binaries on
 * the npm registry; the list makes sure that it is these bytes, and no others, which are loaded into the process.
 */
const BINARIES: Readonly<Record<string, string>> = {
  'linux-x64-20': '4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
  'linux-x64-22': 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
  'linux-x64-24': '177efdc682425d754474bd30f9586c487fa6694f790f3406a23885d0e61c07a0',
  'linux-x64-26': '604375741bf77780b34e7e299af9274cb1f56d73732201d19e3d8d8448176795',
};

export type LoadedUws =
  | { readonly kind: 'loaded'; readonly uws: UwsModule }
  /** `detail` is for the log and for /readyz. */
  | { readonly kind: 'unavailable'; readonly detail: string };

let outcome: LoadedUws | null = null;

/** Loads uWebSockets.js for this platform and Node.js once, or says why it cannot be had. Never throws. */
export function loadUws(): LoadedUws {
  return (outcome ??= tryLoad());
}

function tryLoad(): LoadedUws {
  const target = `${process.platform}-${process.arch}-${process.versions.node.split('.')[0] ?? ''}`;
  const expected = BINARIES[target];
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
    const actual = createHash('sha256').update(readFileSync(file)).digest('hex');
    if (actual !== expected) return unavailable(`the binary of ${name} is not the expected one`);
    // Read once, when the binary is loaded: bytes of header that its parser takes in.
    process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(TRANSPORT_HEADER_BYTES_MAX);
    return { kind: 'loaded', uws: require(name) as UwsModule };
  } catch (error) {
    return unavailable(`${name} does not load: ${firstLine(error)}`);
  }
}

function unavailable(detail: string): LoadedUws {
  return { kind: 'unavailable', detail };
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  // A loader's message names the file with its whole path, which belongs in no answer.
  return (text.split('\n')[0] ?? '').replaceAll(/\/\S*\/uws\.node/g, 'uws.node');
}
