import { BroadcastChannel, threadId } from 'node:worker_threads';
import { unreachable } from '../kernel/brand.ts';
import { builtInHostingTable } from '../risk/signals/hosting-networks.ts';
import { collectShared } from './collect.ts';
import { GeoFolder } from './geo-folder.ts';
import { hostingStatus } from './hosting-status.ts';
import { GEO_PACKAGES } from './asset-files.ts';
import type { GeoPackage } from './asset-files.ts';
import { GEO_SLOTS, MODEL_SLOTS, cityState } from './asset-messages.ts';
import type {
  GeoContent,
  AssetAck,
  AssetMessage,
  AssetName,
  AssetSet,
  AssetSlot,
  AssetStatus,
  AssetSwap,
  ModelContent,
  ModelSlot,
} from './asset-messages.ts';
import { ModelFolder } from './model-folder.ts';
import { joined } from './settling.ts';
import type { AssetLog } from './settling.ts';

export interface AssetOptions {
  readonly geoipDir: string;
  readonly modelsDir: string;
  /** Poll interval of the folders; 0 polls only when `poll` is called. */
  readonly pollMs: number;
  readonly log: AssetLog;
  /** Packages for slots without a file in the folder. */
  readonly packages?: readonly GeoPackage[];
}

/** The optional assets, as managed by the main thread. */
export interface Assets {
  /** For workerData. Updated in place: pass this very object, not a copy. */
  initial(): AssetSet;
  /** State for `/readyz`: of the files, and of what the workers acknowledged. */
  status(): Record<AssetName, AssetStatus>;
  /** State of the model that runs beside the active one. It decides nothing, so it never makes the service degraded. */
  challenger(): AssetStatus;
  /** Discards the acknowledgements of a worker that has ended. */
  forgetWorker(threadId: number): void;
  /** Polls the folders now. Resolves when all stable files have been loaded or rejected; never rejects. */
  poll(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Loads the present files, then keeps polling. Never rejects because of the folders' contents: an asset that cannot run reports it in its
 * status.
 */
export async function openAssets(options: AssetOptions): Promise<Assets> {
  const layers = new MainAssets(options);
  await layers.start();
  return layers;
}

let sets = 0;

class MainAssets implements Assets {
  readonly #options: AssetOptions;
  readonly #set: AssetSet;
  readonly #channel: BroadcastChannel;
  readonly #geo: GeoFolder;
  readonly #models: Readonly<Record<ModelSlot, ModelFolder>>;
  /** Thread → slot → latest acknowledgement. */
  readonly #acks = new Map<number, Map<AssetSlot, AssetAck>>();
  #generation = 0;
  #timer: NodeJS.Timeout | null = null;
  #polling: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: AssetOptions) {
    this.#options = options;
    sets += 1;
    const channel = `gatehouse-layers-${process.pid}-${threadId}-${sets}`;
    const none = { kind: 'absent', generation: 0, detail: '' } as const;
    this.#set = {
      channel,
      geo: { city: none, country: none, asn: none, anonymiser: none, networks: none, domains: none },
      model: none,
      challenger: none,
    };
    this.#channel = new BroadcastChannel(channel);
    this.#channel.addEventListener('message', (event: unknown) => {
      this.#receive((event as { readonly data: AssetMessage }).data);
    });
    this.#channel.unref();
    this.#geo = new GeoFolder(options.geoipDir, options.packages ?? GEO_PACKAGES, options.log);
    const folderOf = (slot: ModelSlot): ModelFolder => new ModelFolder(options.modelsDir, slot, options.log);
    this.#models = { model: folderOf('model'), challenger: folderOf('challenger') };
  }

  async start(): Promise<void> {
    await this.#look();
    this.#schedule();
  }

  initial(): AssetSet {
    return this.#set;
  }

  status(): Record<AssetName, AssetStatus> {
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
        refused: city.refused === true || country.refused === true,
      },
      geoip_country: country,
      geoip_asn: this.#slotStatus('asn'),
      anonymiser: this.#slotStatus('anonymiser'),
      networks: feedsStatus(this.#slotStatus('networks'), this.#slotStatus('domains')),
      hosting_networks: hostingStatus(
        builtInHostingTable(),
        this.#set.geo.asn.kind === 'ready' || this.#set.geo.anonymiser.kind === 'ready',
        Date.now(),
      ),
      model: this.#slotStatus('model'),
    };
  }

  challenger(): AssetStatus {
    return this.#slotStatus('challenger');
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
    const next = (): number => this.#next();
    const [geo, model, challenger] = await Promise.all([
      this.#geo.look(next),
      this.#models.model.look(next),
      this.#models.challenger.look(next),
    ]);
    let replacedBytes = 0;
    for (const [slot, content] of geo) {
      replacedBytes += bytesOf(this.#set.geo[slot]);
      this.#set.geo[slot] = content;
      this.#publish({ kind: 'geo', slot, content });
    }
    for (const [slot, content] of [
      ['model', model],
      ['challenger', challenger],
    ] as const) {
      if (content === null) continue;
      replacedBytes += bytesOf(this.#set[slot]);
      this.#set[slot] = content;
      this.#publish({ kind: 'model', slot, content });
    }
    collectShared(replacedBytes);
  }

  #next(): number {
    this.#generation += 1;
    return this.#generation;
  }

  #publish(swap: AssetSwap): void {
    const { slot, content } = swap;
    const fields = { layer: slot, state: content.kind, generation: content.generation };
    if (content.kind === 'ready') this.#options.log.info({ ...fields, version: content.version }, 'layer updated');
    else this.#options.log.info({ ...fields, detail: content.detail }, 'layer updated');
    this.#send(swap);
  }

  #send(swap: AssetSwap): void {
    // Shared memory is passed by reference: this costs the same for a database of any size.
    this.#channel.postMessage(swap);
  }

  #receive(message: AssetMessage): void {
    switch (message.kind) {
      case 'hello':
        for (const slot of GEO_SLOTS) this.#send({ kind: 'geo', slot, content: this.#set.geo[slot] });
        for (const slot of MODEL_SLOTS) this.#send({ kind: 'model', slot, content: this.#set[slot] });
        return;
      case 'ack': {
        const slots = this.#acks.get(message.threadId) ?? new Map<AssetSlot, AssetAck>();
        this.#acks.set(message.threadId, slots.set(message.slot, message));
        return;
      }
      case 'geo':
      case 'model':
        // These are sent by this class only, and a channel does not deliver to its sender.
        return;
      default:
        unreachable(message);
    }
  }

  #slotStatus(slot: AssetSlot): AssetStatus {
    const isModel = slot === 'model' || slot === 'challenger';
    const content: GeoContent | ModelContent = isModel ? this.#set[slot] : this.#set.geo[slot];
    const notes = isModel ? this.#models[slot].notes() : this.#geo.notes(slot);
    if (content.kind !== 'ready')
      return {
        state: content.kind === 'absent' ? 'absent' : 'broken',
        version: null,
        detail: joined([content.detail, ...notes]),
        refused: content.kind === 'refused',
      };
    let state: AssetStatus['state'] = 'ok';
    let { version } = content as { version: string | null };
    const details = [...notes];
    for (const slots of this.#acks.values()) {
      const ack = slots.get(slot);
      if (ack === undefined || ack.generation !== content.generation) continue;
      if (ack.detail !== '') details.push(`in a worker: ${ack.detail}`);
      if (ack.state === 'broken' || (ack.state === 'absent' && state === 'ok')) ({ state, version } = ack);
    }
    const refused = isModel ? notes.length > 0 : this.#geo.isRefused(slot);
    return { state, version, detail: joined(details), refused };
  }
}

function bytesOf(content: GeoContent | ModelContent): number {
  if (content.kind !== 'ready') return 0;
  const files = 'files' in content ? content.files : [content.file];
  return files.reduce((sum, file) => sum + file.bytes.byteLength, 0);
}

/** The networks of the data feeds; the mail domains if they cannot run, or their file was refused. */
function feedsStatus(networks: AssetStatus, domains: AssetStatus): AssetStatus {
  const isWorse = domains.state === 'broken' || (domains.refused === true && networks.state === 'ok');
  return isWorse ? domains : networks;
}
