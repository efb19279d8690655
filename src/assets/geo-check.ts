import { join } from 'node:path';
import { type FileMoved, GEOIP_BYTES_MAX, readShared, fileSignatureOf } from './asset-files.ts';
import type { SharedFile } from './asset-messages.ts';
import { CheckChild } from './check-child.ts';
import { type CheckedGeoFile, type GeoFileFault, slotOfName } from './geo-file.ts';

/** A checked database file with its bytes. */
export interface GeoFile extends CheckedGeoFile {
  readonly file: SharedFile;
}

/**
 * Choice: Node.js starts in 0.1 s, and a file of 1 GB, which was just read, is read again in under 1 s; a check that takes longer than this
 * never ends.
 */
const CHECK_MS_MAX = 10_000;
/** Choice: beside the file itself. A check of a valid file takes some 80 MiB, nearly all of it the process. */
const MEMORY_BYTES = 256 * 1024 * 1024;

/**
 * Loads databases and checks them in a child process, which starts with the first file: the metadata of a hostile file can take for ever to
 * read. Files are checked one after the other.
 */
export class GeoCheck {
  readonly #msMax: number;
  #child: { readonly process: CheckChild; readonly bytesMax: number } | null = null;

  /** @param msMax maximum time for one file. */
  constructor(msMax = CHECK_MS_MAX) {
    this.#msMax = msMax;
  }

  /** Never rejects. `moved`: the file changed meanwhile, or no child could be started. */
  async load(folder: string, name: string): Promise<GeoFile | GeoFileFault | FileMoved> {
    const path = join(folder, name);
    const before = await fileSignatureOf(path);
    const read = await readShared(path, name, GEOIP_BYTES_MAX);
    if (read.kind === 'moved') return read;
    if (read.kind === 'fault') return { kind: 'fault', slot: slotOfName(name), detail: read.detail };
    const checked = await this.#check(path, name, read.bytes.byteLength);
    // The checked and the loaded bytes are the same only if the file did not change.
    if ((await fileSignatureOf(path)) !== before) return { kind: 'moved' };
    return checked.kind === 'ok' ? { ...checked, file: { name, bytes: read.bytes } } : checked;
  }

  close(): void {
    this.#child?.process.close();
    this.#child = null;
  }

  async #check(path: string, name: string, bytes: number): Promise<CheckedGeoFile | GeoFileFault | FileMoved> {
    if (this.#child !== null && bytes > this.#child.bytesMax) this.close();
    this.#child ??= { process: new CheckChild('geo-check-child', bytes + MEMORY_BYTES), bytesMax: bytes };
    const answer = await this.#child.process.ask(path, this.#msMax);
    if (answer.kind === 'answer') return answer.message as CheckedGeoFile | GeoFileFault | FileMoved;
    this.close();
    if (answer.kind === 'absent') return { kind: 'moved' };
    return { kind: 'fault', slot: slotOfName(name), detail: `reading it ${answer.detail}` };
  }
}
