import { BroadcastChannel, threadId } from 'node:worker_threads';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unreachable } from '../base/brand.ts';
import { GEO_PACKAGES, findPackage, listFiles, loadGeoFile, readShared, signatureOf } from './layer-files.ts';
import type { GeoFile, GeoPackage } from './layer-files.ts';
import { GEO_SLOTS, cityState } from './layer-messages.ts';
import type {
  GeoContent,
  GeoSlot,
  LayerAck,
  LayerMessage,
  LayerName,
  LayerSet,
  LayerSlot,
  LayerStatus,
  LayerSwap,
  ModelContent,
} from './layer-messages.ts';
import { checkModelApart } from './model-child.ts';

/** Choice: as the check's own bound; what is larger was refused there. */
const MODEL_BYTES_MAX = 256 * 1024 * 1024;

/** The log lines that this folder writes; pino's shape. */
export interface LayerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface LayerOptions {
  readonly geoipDir: string;
  readonly modelsDir: string;
  /** Between two looks at the folders; 0 looks only when `poll` is called. */
  readonly pollMs: number;
  readonly log: LayerLog;
  /** Where databases come from for slots that the folder has no file for. */
  readonly packages?: readonly GeoPackage[];
}

/** The optional layers, as the main thread holds them. */
export interface Layers {
  /** For workerData. It is kept up to date in place: pass this very object, and no copy. */
  initial(): LayerSet;
  /** What `/readyz` says: the files' side, and what the workers acknowledged. */
  status(): Record<LayerName, LayerStatus>;
  /** A worker has ended: what it acknowledged no longer counts. */
  forgetWorker(threadId: number): void;
  /** Looks at the folders now. Ends when everything that is settled has been taken or refused; never rejects. */
  poll(): Promise<void>;
  close(): Promise<void>;
}

/** Reads what is there, then keeps looking. Never rejects for what lies in the folders: a layer that cannot run says so. */
export async function openLayers(options: LayerOptions): Promise<Layers> {
  const layers = new MainLayers(options);
  await layers.start();
  return layers;
}

let sets = 0;

class MainLayers implements Layers {
  readonly #options: LayerOptions;
  readonly #set: LayerSet;
  readonly #channel: BroadcastChannel;
  readonly #geo: GeoFolder;
  readonly #model: ModelFolder;
  /** Thread → slot → its latest word. */
  readonly #acks = new Map<number, Map<LayerSlot, LayerAck>>();
  #generation = 0;
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: LayerOptions) {
    this.#options = options;
    sets += 1;
    const channel = `gatehouse-layers-${process.pid}-${threadId}-${sets}`;
    const none = { kind: 'absent', generation: 0, detail: '' } as const;
    this.#set = { channel, geo: { city: none, country: none, asn: none, anonymiser: none }, model: none };
    this.#channel = new BroadcastChannel(channel);
    this.#channel.onmessage = (event: unknown) => this.#receive((event as { readonly data: LayerMessage }).data);
    this.#channel.unref();
    this.#geo = new GeoFolder(options.geoipDir, options.packages ?? GEO_PACKAGES, options.log);
    this.#model = new ModelFolder(options.modelsDir, options.log);
  }

  async start(): Promise<void> {
    await this.#look();
    this.#schedule();
  }

  initial(): LayerSet {
    return this.#set;
  }

  status(): Record<LayerName, LayerStatus> {
    const city = this.#slotStatus('city');
    const country = this.#slotStatus('country');
    const state = cityState(city.state, country.state);
    const details = [city.detail, country.detail];
    if (city.state !== 'ok' && country.state === 'ok') details.push('countries only, from the country database');
    return {
      geoip_city: {
        state,
        version: city.version ?? country.version,
        detail: state === 'absent' ? 'no city or country database' : joined(details),
      },
      geoip_asn: this.#slotStatus('asn'),
      anonymiser: this.#slotStatus('anonymiser'),
      model: this.#slotStatus('model'),
    };
  }

  forgetWorker(threadId: number): void {
    this.#acks.delete(threadId);
  }

  poll(): Promise<void> {
    this.#polling = this.#polling.then(() => (this.#closed ? undefined : this.#look()));
    return this.#polling;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#polling;
    this.#channel.close();
  }

  #schedule(): void {
    if (this.#options.pollMs <= 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.poll().then(() => this.#schedule()), this.#options.pollMs).unref();
  }

  async #look(): Promise<void> {
    const [geo, model] = await Promise.all([this.#geo.look(() => this.#next()), this.#model.look(() => this.#next())]);
    for (const [slot, content] of geo) {
      this.#set.geo[slot] = content;
      this.#publish({ kind: 'geo', slot, content });
    }
    if (model !== null) {
      this.#set.model = model;
      this.#publish({ kind: 'model', content: model });
    }
  }

  #next(): number {
    this.#generation += 1;
    return this.#generation;
  }

  #publish(swap: LayerSwap): void {
    const slot = swap.kind === 'geo' ? swap.slot : 'model';
    const { content } = swap;
    const fields = { layer: slot, state: content.kind, generation: content.generation };
    if (content.kind === 'ready') this.#options.log.info({ ...fields, version: content.version }, 'layer set');
    else this.#options.log.info({ ...fields, detail: content.detail }, 'layer set');
    this.#send(swap);
  }

  #send(swap: LayerSwap): void {
    // Shared memory crosses by reference: this costs the same for a database of any size.
    this.#channel.postMessage(swap);
  }

  #receive(message: LayerMessage): void {
    switch (message.kind) {
      case 'hello':
        for (const slot of GEO_SLOTS) this.#send({ kind: 'geo', slot, content: this.#set.geo[slot] });
        this.#send({ kind: 'model', content: this.#set.model });
        return;
      case 'ack': {
        const slots = this.#acks.get(message.threadId) ?? new Map<LayerSlot, LayerAck>();
        this.#acks.set(message.threadId, slots.set(message.slot, message));
        return;
      }
      case 'geo':
      case 'model':
        // Own kind of message; a channel does not deliver to its sender, and nobody else sends these.
        return;
      default:
        unreachable(message);
    }
  }

  #slotStatus(slot: LayerSlot): LayerStatus {
    const content: GeoContent | ModelContent = slot === 'model' ? this.#set.model : this.#set.geo[slot];
    const notes = slot === 'model' ? this.#model.notes() : this.#geo.notes(slot);
    if (content.kind !== 'ready')
      return {
        state: content.kind === 'absent' ? 'absent' : 'broken',
        version: null,
        detail: joined([content.detail, ...notes]),
      };
    let state: LayerStatus['state'] = 'ok';
    let { version } = content as { version: string | null };
    const details = [...notes];
    for (const slots of this.#acks.values()) {
      const ack = slots.get(slot);
      if (ack === undefined || ack.generation !== content.generation) continue;
      if (ack.detail !== '') details.push(`in a worker: ${ack.detail}`);
      if (ack.state === 'broken' || (ack.state === 'absent' && state === 'ok')) ({ state, version } = ack);
    }
    return { state, version, detail: joined(details) };
  }
}

/** Tells a file that changed from one that is still changing: what two looks find alike is settled. */
class Settling {
  #settled: string | null = null;
  #seen: string | null = null;
  #atOnce: boolean;

  /** `atOnce`: the first look takes the file as it is, for it validates or is refused until it changes. */
  constructor(atOnce: boolean) {
    this.#atOnce = atOnce;
  }

  /** Whether what is there now is settled, and not what was taken last. `null` is "nothing there". */
  see(signature: string | null): boolean {
    const alike = this.#atOnce || signature === this.#seen;
    this.#seen = signature;
    this.#atOnce = false;
    if (!alike || signature === this.#settled) return false;
    this.#settled = signature;
    return true;
  }

  /** What was settled turned out to be still changing: it counts as never seen. */
  unsettle(): void {
    this.#settled = 'moved';
    this.#seen = 'moved';
  }
}

interface FolderFile {
  readonly settling: Settling;
  /** What serves, or would; kept when a newer version of the file is refused. */
  content: GeoFile | null;
  refusal: { readonly slot: GeoSlot | null; readonly detail: string } | null;
}

class GeoFolder {
  readonly #folder: string;
  readonly #packages: readonly GeoPackage[];
  readonly #log: LayerLog;
  readonly #files = new Map<string, FolderFile>();
  /** What of each slot is published: the identity of its files, or why there are none. */
  readonly #published = new Map<GeoSlot, string>();
  readonly #notes = new Map<GeoSlot, readonly string[]>();
  #looked = false;

  constructor(folder: string, packages: readonly GeoPackage[], log: LayerLog) {
    this.#folder = folder;
    this.#packages = packages;
    this.#log = log;
  }

  notes(slot: GeoSlot): readonly string[] {
    return this.#notes.get(slot) ?? [];
  }

  /** The slots whose content changed. */
  async look(next: () => number): Promise<Map<GeoSlot, GeoContent>> {
    const signatures = await listFiles(this.#folder, (name) => name.endsWith('.mmdb'));
    const first = !this.#looked;
    this.#looked = true;
    let moved = first;
    for (const name of new Set([...signatures.keys(), ...this.#files.keys()])) {
      const file = this.#files.get(name) ?? { settling: new Settling(first), content: null, refusal: null };
      this.#files.set(name, file);
      if (!file.settling.see(signatures.get(name) ?? null)) continue;
      moved = true;
      if (signatures.has(name)) await this.#take(name, file);
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

  async #take(name: string, file: FolderFile): Promise<void> {
    const loaded = await loadGeoFile(this.#folder, name);
    switch (loaded.kind) {
      case 'moved':
        file.settling.unsettle();
        return;
      case 'fault': {
        // The file's own last slot knows better than its name.
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

  /** The slot's new content, or null when it is what is published. */
  async #choose(slot: GeoSlot, next: () => number): Promise<GeoContent | null> {
    const notes: string[] = [];
    const refused: string[] = [];
    for (const { refusal } of this.#files.values()) {
      if (refusal?.slot === slot) refused.push(refusal.detail);
      // A sound file that nothing asks for is no fault of any layer, but whoever put it there looks for it here first.
      else if (refusal?.slot === null && slot === 'city') notes.push(refusal.detail);
    }
    const chosen = newestOfEach(
      [...this.#files.values()].flatMap(({ content }) => content ?? []).filter((file) => file.slot === slot),
    );
    if (chosen.length > 0) {
      this.#notes.set(slot, [...refused, ...notes]);
      return this.#publish(slot, identityOf(chosen), () =>
        ready(next(), chosen.map((file) => file.version).join(', '), chosen),
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
    | { readonly kind: 'ok'; readonly version: string; readonly files: readonly GeoFile[] }
    | { readonly kind: 'fault'; readonly detail: string }
    | { readonly kind: 'absent' }
  > {
    for (const candidate of this.#packages.filter((entry) => entry.slot === slot)) {
      const found = await findPackage(candidate.name);
      if (found === null) continue;
      const version = `${candidate.name} ${found.version}`;
      // Packages do not change under a running server, so what is published need not be read again.
      if (this.#published.get(slot) === version) return { kind: 'ok', version, files: [] };
      const files: GeoFile[] = [];
      for (const name of candidate.files) {
        const loaded = await loadGeoFile(found.folder, name);
        if (loaded.kind !== 'ok')
          return {
            kind: 'fault',
            detail: `${name} of ${candidate.name} was refused: ${loaded.kind === 'fault' ? loaded.detail : 'it changed'}`,
          };
        files.push(loaded);
      }
      return { kind: 'ok', version, files };
    }
    return { kind: 'absent' };
  }
}

/** Of each IP version the newest file, newest first; of files of the same day the first by name. */
function newestOfEach(files: readonly GeoFile[]): readonly GeoFile[] {
  const sorted = files.toSorted((a, b) => b.builtAtSeconds - a.builtAtSeconds || (a.file.name < b.file.name ? -1 : 1));
  return sorted.filter((file, i) => sorted.findIndex((other) => other.ipVersion === file.ipVersion) === i);
}

let identities = 0;
const identityOfBytes = new WeakMap<SharedArrayBuffer, number>();

/** Tells the same bytes, read once, from others, without comparing them. */
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

function ready(generation: number, version: string, files: readonly GeoFile[]): GeoContent {
  return { kind: 'ready', generation, version, files: files.map(({ file }) => file) };
}

class ModelFolder {
  readonly #folder: string;
  readonly #log: LayerLog;
  readonly #settling = new Settling(true);
  #serves = false;
  #published = '';
  #refusal = '';

  constructor(folder: string, log: LayerLog) {
    this.#folder = folder;
    this.#log = log;
  }

  notes(): readonly string[] {
    return this.#serves && this.#refusal !== '' ? [this.#refusal] : [];
  }

  /** The new content, or null when nothing changes for the workers. */
  async look(next: () => number): Promise<ModelContent | null> {
    const signature = await this.#signature();
    if (!this.#settling.see(signature) && this.#published !== '') return null;
    if (signature === null) return this.#none('absent', 'no model: rules decide alone', next);

    const check = await checkModelApart(this.#folder);
    const read = await readShared(join(this.#folder, 'model.onnx'), 'model.onnx', MODEL_BYTES_MAX);
    const manifest = await readFile(join(this.#folder, 'model.json'), 'utf8').catch(() => '');
    // What was checked and what was read here are the same only if neither file changed in between.
    if ((await this.#signature()) !== signature) {
      this.#settling.unsettle();
      return this.#published === '' ? this.#none('refused', 'the model is being written', next) : null;
    }
    if (check.kind === 'ok' && read.kind === 'ok') {
      this.#serves = true;
      this.#refusal = '';
      this.#published = `ready ${signature}`;
      return {
        kind: 'ready',
        generation: next(),
        version: `${check.name} ${check.version}`,
        manifest,
        file: { name: read.name, bytes: read.bytes },
      };
    }
    if (check.kind === 'fault' && check.code === 'runtime_absent') return this.#none('absent', check.detail, next);
    const reason =
      check.kind === 'fault'
        ? `${check.code}: ${check.detail}`
        : read.kind === 'fault'
          ? read.detail
          : 'it changed while it was read';
    this.#refusal = `the model was refused: ${reason}`;
    this.#log.warn({ detail: reason }, 'model refused');
    return this.#serves ? null : this.#none('refused', this.#refusal, next);
  }

  #none(kind: 'absent' | 'refused', detail: string, next: () => number): ModelContent | null {
    const published = `${kind} ${detail}`;
    if (this.#published === published) return null;
    this.#serves = false;
    this.#published = published;
    return { kind, generation: next(), detail };
  }

  /** Of both files together; null when neither is there. */
  async #signature(): Promise<string | null> {
    const [model, manifest] = await Promise.all([
      signatureOf(join(this.#folder, 'model.onnx')),
      signatureOf(join(this.#folder, 'model.json')),
    ]);
    return model === null && manifest === null ? null : `${model} ${manifest}`;
  }
}

function joined(details: readonly string[]): string {
  return [...new Set(details)].filter((detail) => detail !== '').join('; ');
}
