/** The part of uWebSockets.js that is used. The packages carry no types. Shapes: uWebSockets.js 20.51 to 20.69. */
export interface UwsModule {
  App(): UwsApp;
  SSLApp(options: { key_file_name: string; cert_file_name: string }): UwsApp;
  us_listen_socket_close(socket: UwsListenSocket): void;
  us_socket_local_port(socket: UwsListenSocket): number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

export type UwsListenSocket = object;

export interface UwsApp {
  any(pattern: string, handler: (res: UwsResponse, req: UwsRequest) => void): UwsApp;
  listen(host: string, port: number, options: number, done: (socket: UwsListenSocket | false) => void): UwsApp;
  /** Closes all connections and sockets. */
  close(): UwsApp;
}

/** Valid only until the handler returns. */
export interface UwsRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  forEach(field: (name: string, value: string) => void): void;
}

/** Every method throws once the response is answered or aborted. */
export interface UwsResponse {
  onAborted(handler: () => void): UwsResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  getRemoteAddressAsText(): ArrayBuffer;
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  end(body: string | Uint8Array, closeConnection?: boolean): UwsResponse;
  /** Bytes of the body that were written. */
  getWriteOffset(): number;
  /** Called when more can be written, with the offset to go on from; to be answered by whether all could be written. */
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  /** Called with an argument, `undefined` too, it writes a Content-Length; where that is not 0, the answer never counts as whole. */
  endWithoutBody(): UwsResponse;
  /**
   * Writes the header with this Content-Length, and a part of the body. As long as less than that was sent, the response stays
   * valid. `ok` is false when not all of the part could be written; `done` when the body is complete.
   */
  tryEnd(part: string | Uint8Array, totalBytes: number): readonly [ok: boolean, done: boolean];
  /** Closes the connection at once; what was written before is still sent. */
  close(): UwsResponse;
  cork(work: () => void): UwsResponse;
}
