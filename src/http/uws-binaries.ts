/**
 * The uWebSockets.js binaries that may be loaded, and the patches applied to a copy of each before it is loaded.
 *
 * The packages republish the project's official binaries on the npm registry. The SHA-256 ensures that exactly these bytes are loaded into
 * the process.
 *
 * Three branches of the header parser (`HttpParser.h`, `getHeaders`) are patched, because their effects cannot be undone from JavaScript:
 *
 * - It trims white space from both ends of a value with a signed comparison (`back() < 33`), which also treats bytes from 0x80 as white
 *   space: `Content-Length: 5\xff` would be read as 5, and a key followed by an `é` as the key. The jump of each of the two loops becomes
 *   the unsigned one; the bytes then reach the header validation, which rejects them.
 * - It accepts a PROXY protocol preamble from any client, before any request of a connection. The jump to that part becomes a jump to the
 *   parser's 400.
 *
 * Measured: the patches cost nothing for each request, and 4 to 15 ms at start for the copy.
 */
export interface UwsBinary {
  readonly sha256: string;
  readonly edits: readonly Edit[];
}

/** Offset in the file, the expected bytes, and their replacement; the bytes are in hex. */
type Edit = readonly [offset: number, from: string, to: string];

const JGE_TO_JAE = ['7d', '73'] as const;
const JG_TO_JA = ['7f', '77'] as const;

export const UWS_BINARIES: Readonly<Record<string, UwsBinary>> = {
  'linux-x64-20': {
    sha256: '4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
    edits: [
      [0xf2304, '0f84a8000000', '0f8477030000'],
      [0xf2632, ...JGE_TO_JAE],
      [0xf264c, ...JG_TO_JA],
    ],
  },
  'linux-x64-22': {
    sha256: 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
    edits: [
      [0xf2584, '0f84a8000000', '0f8477030000'],
      [0xf28b2, ...JGE_TO_JAE],
      [0xf28cc, ...JG_TO_JA],
    ],
  },
  'linux-x64-24': {
    sha256: '177efdc682425d754474bd30f9586c487fa6694f790f3406a23885d0e61c07a0',
    edits: [
      [0xffac8, '0f84d6000000', '0f84b7030000'],
      [0xffe36, ...JGE_TO_JAE],
      [0xffe4d, ...JG_TO_JA],
    ],
  },
  'linux-x64-26': {
    sha256: '604375741bf77780b34e7e299af9274cb1f56d73732201d19e3d8d8448176795',
    edits: [
      [0x100368, '0f84d6000000', '0f84b7030000'],
      [0x1006d6, ...JGE_TO_JAE],
      [0x1006ed, ...JG_TO_JA],
    ],
  },
};

/** Patches the bytes in place. Returns false, without changing anything, if the expected bytes are not found. */
export function repairBinary(bytes: Buffer, edits: readonly Edit[]): boolean {
  for (const [offset, from] of edits) {
    if (bytes.toString('hex', offset, offset + from.length / 2) !== from) return false;
  }
  for (const [offset, , to] of edits) bytes.write(to, offset, 'hex');
  return true;
}
