/**
 * Messages between threads about the optional assets: GeoIP databases and the model.
 *
 * The main thread is the only writer: it reads and validates files, copies their bytes into shared memory and notifies the score workers
 * through a broadcast channel. Workers only read, and acknowledge each change, so that `/readyz` reports what really runs.
 */

/**
 * Kinds of databases. `country` is queried if `city` returns no country; `networks` and `domains` (those of mail) are compiled from data
 * feeds.
 */
export const GEO_SLOTS = ['city', 'country', 'asn', 'anonymiser', 'networks', 'domains'] as const;
export type GeoSlot = (typeof GEO_SLOTS)[number];

/**
 * The layers of `/readyz`. Source: contract, 15.4. `geoip_city` combines the slots `city` and `country`, as rules see them;
 * `geoip_country` is the country database alone; `networks` is what the data feeds say; `hosting_networks` is the built-in table.
 */
export type AssetName =
  | 'geoip_city'
  | 'geoip_country'
  | 'geoip_asn'
  | 'anonymiser'
  | 'networks'
  | 'hosting_networks'
  | 'model';

/** The model that counts, and the one that runs beside it and decides nothing. */
export const MODEL_SLOTS = ['model', 'challenger'] as const;
export type ModelSlot = (typeof MODEL_SLOTS)[number];

/** A slot for an asset; slots are swapped independently. */
export type AssetSlot = GeoSlot | ModelSlot;

/**
 * `ok`: runs; `absent`: was never configured; `broken`: is configured and cannot run. `detail` is public text: it names files without their
 * folders.
 */
export interface AssetStatus {
  readonly state: 'ok' | 'absent' | 'broken';
  readonly version: string | null;
  readonly detail: string;
  /** Whether a file in the folder was rejected, whatever is used instead. Absent if the layer cannot have a file. */
  readonly refused?: boolean;
}

/** A file's bytes, once in memory for all threads. */
export interface SharedFile {
  readonly name: string;
  readonly bytes: SharedArrayBuffer;
}

/** Content of a slot. `generation` increases with every change of any slot, so that an older message never overwrites a newer one. */
type SlotContent<Ready> =
  | { readonly kind: 'absent'; readonly generation: number; readonly detail: string }
  | { readonly kind: 'refused'; readonly generation: number; readonly detail: string }
  | ({ readonly kind: 'ready'; readonly generation: number; readonly version: string } & Ready);

interface GeoReady {
  /** One file, or two: one for IPv4 and one for IPv6. */
  readonly files: readonly SharedFile[];
}
export type GeoContent = SlotContent<GeoReady>;

/** Begins the version of a database that came with the service. What such a one does not name may be newer than it. */
export const SHIPPED = 'shipped';

interface ModelReady {
  /** The text of `model.json`, validated. */
  readonly manifest: string;
  readonly file: SharedFile;
}
export type ModelContent = SlotContent<ModelReady>;

/**
 * All optional assets, passed as workerData. The main thread updates it in place, so that a worker started later begins with the current
 * state and nothing old stays referenced.
 */
export interface AssetSet {
  /** Name of the broadcast channel, unique per process and set. */
  readonly channel: string;
  readonly geo: Record<GeoSlot, GeoContent>;
  model: ModelContent;
  /** Runs beside the model and decides nothing. */
  challenger: ModelContent;
}

/** Main thread → workers. */
export type AssetSwap =
  | { readonly kind: 'geo'; readonly slot: GeoSlot; readonly content: GeoContent }
  | { readonly kind: 'model'; readonly slot: ModelSlot; readonly content: ModelContent };

/** Worker → main thread: the state of a slot in that worker. Sent after each swap and whenever the state changes. */
export interface AssetAck {
  readonly kind: 'ack';
  readonly threadId: number;
  readonly slot: AssetSlot;
  /** Generation of the acknowledged content. */
  readonly generation: number;
  readonly state: AssetStatus['state'];
  /** Version in use; after a rejected swap still the older one. */
  readonly version: string | null;
  readonly detail: string;
}

/** Worker → main thread, once at its start: a swap may have happened between its workerData and its subscription. */
interface AssetHello {
  readonly kind: 'hello';
  readonly threadId: number;
}

export type AssetMessage = AssetSwap | AssetAck | AssetHello;

/** Choice: small networks and tree ensembles have a few MB; a session takes a multiple of its file, in every worker. */
export const MODEL_BYTES_MAX = 256 * 1024 * 1024;

/** Names of the files that can hold a model; `model.json` says which of them it describes. */
export const MODEL_FILES = { onnx: 'model.onnx', forest: 'forest.json' } as const;
export type ModelFormat = keyof typeof MODEL_FILES;
/** Choice: 250,000 nodes in JSON take some 12 MB. */
export const FOREST_BYTES_MAX = 32 * 1024 * 1024;

/** Reasons for rejecting a model. Stable: printed by `gatehouse models check`. */
type ModelFaultCode =
  | 'manifest_missing'
  | 'manifest_invalid'
  | 'model_missing'
  | 'sha256_mismatch'
  | 'unknown_column'
  | 'load_failed'
  | 'golden_failed'
  | 'bad_output'
  | 'runtime_absent';

export interface ModelFault {
  readonly kind: 'fault';
  readonly code: ModelFaultCode;
  readonly detail: string;
}

/** `rows` golden rows were run; `maxError` is the largest deviation from an expected probability. */
export type ModelCheck =
  | {
      readonly kind: 'ok';
      readonly name: string;
      readonly version: string;
      readonly format: ModelFormat;
      readonly sha256: string;
      readonly rows: number;
      readonly maxError: number;
    }
  | ModelFault;

/**
 * Combines the two slots of `geoip_city`. A city database that cannot run makes the layer broken even if countries are still available from
 * the other slot, because a configured database does not run. If no city database was ever configured, the country database determines the
 * state.
 */
export function cityState(city: AssetStatus['state'], country: AssetStatus['state']): AssetStatus['state'] {
  return city === 'absent' ? country : city;
}
