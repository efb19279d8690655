import type { UwsApp, UwsModule, UwsRequest, UwsResponse } from '../../src/http/uws-types.ts';

/** The part of uWebSockets.js that the transport uses, without a socket: for situations that are hard to create over a real one. */
export function fakeUws() {
  let handle: (res: UwsResponse, req: UwsRequest) => void = () => {};
  const app: Partial<UwsApp> = {
    any(_pattern, handler) {
      handle = handler;
      return app as UwsApp;
    },
    listen(_host, _port, _options, done) {
      done({});
      return app as UwsApp;
    },
  };
  const uws: Partial<UwsModule> = { App: () => app as UwsApp, us_socket_local_port: () => 1 };
  return {
    uws: uws as UwsModule,
    /** Begins a request; the returned `onData` delivers a part of its body. */
    request: (fields: Readonly<Record<string, string>>, peer = '127.0.0.1') => {
      let onData: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};
      const res: Partial<UwsResponse> = {
        onAborted: () => res as UwsResponse,
        onData(handler) {
          onData = handler;
          return res as UwsResponse;
        },
        getRemoteAddressAsText: () => new Uint8Array(Buffer.from(peer)).buffer,
      };
      const req: UwsRequest = {
        getCaseSensitiveMethod: () => 'POST',
        getUrl: () => '/',
        getQuery: () => undefined,
        forEach(field) {
          for (const [name, value] of Object.entries(fields)) field(name, value);
        },
      };
      handle(res as UwsResponse, req);
      return { onData: (chunk: ArrayBuffer, isLast: boolean) => onData(chunk, isLast) };
    },
  };
}
