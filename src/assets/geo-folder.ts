import { join } from 'node:path';
import { unreachable } from '../kernel/brand.ts';
import { findPackage, GEOIP_BYTES_MAX, listFiles, readShared } from './asset-files.ts';
import type { GeoPackage } from './asset-files.ts';
import { GEO_SLOTS } from './asset-messages.ts';
import type { GeoContent, GeoSlot, SharedFile } from './asset-messages.ts';
import { GeoCheck } from './geo-check.ts';
import type { GeoFile } from './geo-check.ts';
import { Settling, joined } from './settling.ts';
import type { AssetLog } from './settling.ts';

interface FolderFile {
  readonly settling: Settling;
  /** The content in use, or ready to be used; kept when a newer version of the file is rejected. */
  content: GeoFile | null;
  refusal: { readonly slot: GeoSlot | null; readonly detail: string } | null;
}

/** The databases of a folder and, for slots without a file, of installed packages. Selects which of them serve in which slot. */
export class GeoFolder {
  readonly #folder: string;
  readonly #packages: readonly GeoPackage[];
  readonly #log: AssetLog;
  readonly #files = new Map<string, FolderFile>();
  /** Published state of each slot: the identity of its files, or the reason why there are none. */
  readonly #published = new Map<GeoSlot, string>();
  readonly #notes = new Map<GeoSlot, readonly string[]>();
  #looked = false;

  constructor(folder: string, packages: readonly GeoPackage[], log: AssetLog) {
    this.#folder = folder;
    this.#packages = packages;
    this.#log = log;
  }

  notes(slot: GeoSlot): readonly string[] {
    return this.#notes.get(slot) ?? [];
  }

  /** Returns whether a file for this slot was rejected. */
  isRefused(slot: GeoSlot): boolean {
    return [...this.#files.values()].some(({ refusal }) => refusal?.slot === slot);
  }

  /** Polls the folder and returns the slots whose content changed. */
  async look(next: () => number): Promise<Map<GeoSlot, GeoContent>> {
    const check = new GeoCheck();
    try {
      return await this.#look(check, next);
    } finally {
      check.close();
    }
  }

  async #look(check: GeoCheck, next: () => number): Promise<Map<GeoSlot, GeoContent>> {
    const signatures = await listFiles(this.#folder, (name) => name.endsWith('.mmdb'));
    const first = !this.#looked;
    this.#looked = true;
    let moved = first;
    for (const name of new Set([...signatures.keys(), ...this.#files.keys()])) {
      const file = this.#files.get(name) ?? { settling: new Settling(first), content: null, refusal: null };
      this.#files.set(name, file);
      if (!file.settling.see(signatures.get(name) ?? null)) continue;
      moved = true;
      if (signatures.has(name)) await this.#take(check, name, file);
      else this.#files.delete(name);
    }
    const changes = new Map<GeoSlot, GeoContent>();
    if (!moved) return changes;
    for (const slot of GEO_SLOTS) {
      const content = await this.#choose(slot, next);
      if (content !== null) changes.set(slot, content);
    }
    return changes;
  }

  async #take(check: GeoCheck, name: string, file: FolderFile): Promise<void> {
    const loaded = await check.load(this.#folder, name);
    switch (loaded.kind) {
      case 'moved':
        file.settling.unsettle();
        return;
      case 'fault': {
        // The slot of the file's last valid content is more reliable than its name.
        const slot = loaded.slot === null ? null : (file.content?.slot ?? loaded.slot);
        file.refusal = { slot, detail: `${name} was refused: ${loaded.detail}` };
        this.#log.warn({ file: name, detail: loaded.detail }, 'GeoIP file refused');
        return;
      }
      case 'ok':
        file.content = loaded;
        file.refusal = null;
        return;
      default:
        unreachable(loaded);
    }
  }

  /** Returns the slot's new content, or null if it is already published. */
  async #choose(slot: GeoSlot, next: () => number): Promise<GeoContent | null> {
    const notes: string[] = [];
    const refused: string[] = [];
    for (const { refusal } of this.#files.values()) {
      if (refusal?.slot === slot) refused.push(refusal.detail);
      // A valid file of an unused type is not a fault of any asset. It is reported for `city`, where an operator looks first.
      else if (refusal?.slot === null && slot === 'city') notes.push(refusal.detail);
    }
    const chosen = newestOfEach(
      [...this.#files.values()].flatMap(({ content }) => content ?? []).filter((file) => file.slot === slot),
    );
    if (chosen.length > 0) {
      this.#notes.set(slot, [...refused, ...notes]);
      return this.#publish(slot, identityOf(chosen), () =>
        ready(
          next(),
          chosen.map(({ version }) => version).join(', '),
          chosen.map(({ file }) => file),
        ),
      );
    }
    const installed = await this.#fromPackage(slot);
    if (installed.kind === 'ok') {
      this.#notes.set(slot, [...refused, ...notes]);
      return this.#publish(slot, installed.version, () => ready(next(), installed.version, installed.files));
    }
    if (installed.kind === 'fault') refused.push(installed.detail);
    this.#notes.set(slot, notes);
    const detail = joined(refused);
    return this.#publish(slot, `none: ${detail}`, () => ({
      kind: refused.length > 0 ? 'refused' : 'absent',
      generation: next(),
      detail,
    }));
  }

  #publish(slot: GeoSlot, identity: string, make: () => GeoContent): GeoContent | null {
    if (this.#published.get(slot) === identity) return null;
    this.#published.set(slot, identity);
    return make();
  }

  async #fromPackage(
    slot: GeoSlot,
  ): Promise<
    | { readonly kind: 'ok'; readonly version: string; readonly files: readonly SharedFile[] }
    | { readonly kind: 'fault'; readonly detail: string }
    | { readonly kind: 'absent' }
  > {
    for (const candidate of this.#packages.filter((entry) => entry.slot === slot)) {
      const found = await findPackage(candidate);
      if (found === null) continue;
      const version = `${candidate.name} ${found.version}`;
      // Packages do not change under a running server, so a published one need not be read again.
      if (this.#published.get(slot) === version) return { kind: 'ok', version, files: [] };
      const files: SharedFile[] = [];
      for (const name of candidate.files) {
        // Not checked here: it is as trustworthy as the service's own code, which comes the same way. Workers report one that is damaged.
        const read = await readShared(join(found.folder, name), name, GEOIP_BYTES_MAX);
        if (read.kind !== 'ok') {
          const detail = read.kind === 'fault' ? read.detail : 'it changed';
          return { kind: 'fault', detail: `${name} of ${candidate.name} was refused: ${detail}` };
        }
        files.push({ name, bytes: read.bytes });
      }
      return { kind: 'ok', version, files };
    }
    return { kind: 'absent' };
  }
}

/** Returns the newest file of each IP version, newest first; of files of the same day, the first by name. */
function newestOfEach(files: readonly GeoFile[]): readonly GeoFile[] {
  const sorted = files.toSorted((a, b) => b.builtAtSeconds - a.builtAtSeconds || (a.file.name < b.file.name ? -1 : 1));
  return sorted.filter((file, i) => sorted.findIndex((other) => other.ipVersion === file.ipVersion) === i);
}

let identities = 0;
const identityOfBytes = new WeakMap<SharedArrayBuffer, number>();

/** Identifies file contents by their buffers, each of which was filled by one read, so that no bytes are compared. */
function identityOf(files: readonly GeoFile[]): string {
  return files
    .map(({ file }) => {
      let identity = identityOfBytes.get(file.bytes);
      if (identity === undefined) {
        identities += 1;
        identity = identities;
        identityOfBytes.set(file.bytes, identity);
      }
      return identity;
    })
    .join(',');
}

function ready(generation: number, version: string, files: readonly SharedFile[]): GeoContent {
  return { kind: 'ready', generation, version, files };
}
