/** All messages between the main thread and the worker that parses large request bodies. */

/** Data passed to the worker at its start. */
export interface BodyWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];
}

export interface BodyTask {
  /** Name of a `BodyReader`. */
  readonly reader: string;
  /** Transferred: the sender can no longer access it. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The service's clock, Unix ms. */
  readonly nowMs: number;
  /** Addresses on which this service listens; no URL in a body may name them. */
  readonly listening: readonly { readonly host: string; readonly port: number }[];
}
