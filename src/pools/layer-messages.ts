/**
 * What crosses threads for the optional layers: GeoIP databases and the model.
 *
 * The main thread is the only writer: it reads and validates files, puts their bytes into shared memory and tells the score
 * workers by a broadcast channel. Workers only read, and answer with acknowledgements, so that `/readyz` can tell the truth.
 */

/** What a database is asked for. `country` is asked where `city` knows no country. */
export const GEO_SLOTS = ['city', 'country', 'asn', 'anonymiser'] as const;
export type GeoSlot = (typeof GEO_SLOTS)[number];

/**
 * The layers of `/readyz`. Source: open points, section 6. `geoip_city` is the slots `city` and `country` together, as rules see
 * them; `geoip_country` is the country database by itself; `hosting_networks` is the table that comes with the service.
 */
export type LayerName = 'geoip_city' | 'geoip_country' | 'geoip_asn' | 'anonymiser' | 'hosting_networks' | 'model';

/** A slot of the layer set; each is swapped on its own. */
export type LayerSlot = GeoSlot | 'model';

/**
 * `ok` runs, `absent` was never set up, `broken` is set up and cannot run. `detail` is public text: it names files without their
 * folders.
 */
export interface LayerStatus {
  readonly state: 'ok' | 'absent' | 'broken';
  readonly version: string | null;
  readonly detail: string;
  /** A file that lies there was refused, whatever serves in its place. Absent where no file can be. */
  readonly refused?: boolean;
}

/** A file's bytes, in memory once for all threads. */
export interface SharedFile {
  readonly name: string;
  readonly bytes: SharedArrayBuffer;
}

/** What a slot holds. `generation` grows with every change of any slot, so that an older message never undoes a newer one. */
type SlotContent<Ready> =
  | { readonly kind: 'absent'; readonly generation: number; readonly detail: string }
  | { readonly kind: 'refused'; readonly generation: number; readonly detail: string }
  | ({ readonly kind: 'ready'; readonly generation: number; readonly version: string } & Ready);

interface GeoReady {
  /** One file, or two: one for IPv4 and one for IPv6. */
  readonly files: readonly SharedFile[];
}
export type GeoContent = SlotContent<GeoReady>;

interface ModelReady {
  /** The text of `model.json`, already checked. */
  readonly manifest: string;
  readonly file: SharedFile;
}
export type ModelContent = SlotContent<ModelReady>;

/**
 * The whole of the optional layers, as workerData. The main thread keeps it up to date in place, so that a worker started later
 * begins with what is current then, and so that nothing old stays referenced.
 */
export interface LayerSet {
  /** Name of the broadcast channel, unique per process and set. */
  readonly channel: string;
  readonly geo: Record<GeoSlot, GeoContent>;
  model: ModelContent;
}

/** Main thread → workers. */
export type LayerSwap =
  | { readonly kind: 'geo'; readonly slot: GeoSlot; readonly content: GeoContent }
  | { readonly kind: 'model'; readonly content: ModelContent };

/** Worker → main thread: what a slot is in that worker now. Sent after each swap and whenever the state changes. */
export interface LayerAck {
  readonly kind: 'ack';
  readonly threadId: number;
  readonly slot: LayerSlot;
  /** Of the content that the acknowledgement answers. */
  readonly generation: number;
  readonly state: LayerStatus['state'];
  /** What serves, which after a refused swap is still the older one. */
  readonly version: string | null;
  readonly detail: string;
}

/** Worker → main thread, once at its start: a swap may have passed between its workerData and its first listening. */
interface LayerHello {
  readonly kind: 'hello';
  readonly threadId: number;
}

export type LayerMessage = LayerSwap | LayerAck | LayerHello;

/** Choice: small networks and tree ensembles have a few MB; a session takes a multiple of its file, in every worker. */
export const MODEL_BYTES_MAX = 256 * 1024 * 1024;

/** Why a model is refused. Stable: printed by `gatehouse models check`. */
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

/** `rows` golden rows were run; `maxError` is the largest distance from an expected probability. */
export type ModelCheck =
  | {
      readonly kind: 'ok';
      readonly name: string;
      readonly version: string;
      readonly sha256: string;
      readonly rows: number;
      readonly maxError: number;
    }
  | ModelFault;

/**
 * `geoip_city` out of its two slots. A city database that cannot run is broken even while countries still come from the other
 * slot, because what was set up does not run; one that was never set up leaves the layer to the country database.
 */
export function cityState(city: LayerStatus['state'], country: LayerStatus['state']): LayerStatus['state'] {
  return city === 'absent' ? country : city;
}
