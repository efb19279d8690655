/** The part of the uWebSockets.js API that is used. The packages contain no types. Taken from uWebSockets.js 20.51 to 20.69. */
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
  /**
   * Called with 1 when a connection was accepted, before its TLS handshake, and with -1 when it has closed. The address is known only with
   * 1, and then the connection may be closed.
   */
  filter(handler: (res: UwsResponse, change: number) => void): UwsApp;
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

/** Every method throws once the response is completed or aborted. */
export interface UwsResponse {
  onAborted(handler: () => void): UwsResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  /** Stops reading from the connection, which does not time out meanwhile. */
  pause(): void;
  resume(): void;
  getRemoteAddressAsText(): ArrayBuffer;
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string): UwsResponse;
  end(body: string | Uint8Array, closeConnection?: boolean): UwsResponse;
  /**
   * Writes a chunk of the chunked transfer coding, with the header if it is the first. False if part of it was buffered because the socket
   * took no more. An `end` completes the response.
   */
  write(chunk: string | Uint8Array): boolean;
  /** Bytes of the body that were written. */
  getWriteOffset(): number;
  /**
   * The handler is called when more can be written, with the offset from which to continue. It returns whether everything could be written.
   */
  onWritable(handler: (offset: number) => boolean): UwsResponse;
  /**
   * Writes a Content-Length if called with an argument, even `undefined`. If that length is not 0, the response never counts as complete.
   */
  endWithoutBody(): UwsResponse;
  /**
   * Writes the header with this Content-Length, and a part of the body. The response stays valid until the complete body was sent. `ok` is
   * false if not all of the part could be written; `done` is true when the body is complete.
   */
  tryEnd(part: string | Uint8Array, totalBytes: number): readonly [ok: boolean, done: boolean];
  /** Closes the connection at once. What was written before is still sent. */
  close(): UwsResponse;
  cork(work: () => void): UwsResponse;
}
