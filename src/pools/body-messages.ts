/** Everything that crosses between the main thread and the worker that reads large request bodies. */

/** What the worker is started with. */
export interface BodyWorkerData {
  /** CIDRs that may be reached although they are not public. */
  readonly egressAllow: readonly string[];
  /** An operator's bound of what an extraction may gather. */
  readonly recordsMax: number;
}

export interface BodyTask {
  /** Name of a `BodyReader`. */
  readonly reader: string;
  /** Transferred: the sender has it no more. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The service's clock, Unix ms. */
  readonly nowMs: number;
  /** Where this service listens, which no URL in a body may name. */
  readonly listening: readonly { readonly host: string; readonly port: number }[];
}
