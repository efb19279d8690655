import { loadUws } from '../../src/http/load-uws.ts';
import { nowMs } from './clock.ts';
import type { Arrival, ReceiverOrder, Received } from './receiver-client.ts';

/**
 * A receiver with minimal cost: reads the body, responds 204, records the time. On the configured paths it hangs: it reads the request and
 * never responds. Prints its port.
 */
const loaded = loadUws();
if (loaded.kind === 'unavailable') throw new Error(loaded.detail);
const { uws } = loaded;

const REQUEST_ID = Buffer.from('"request_id":"');
const ID_CHARACTERS = 30;
let hanging = new Set<string>();
let isRecording = false;
let arrivals: Arrival[] = [];
let count = 0;
let firstMs = 0;
let lastMs = 0;
let markAt = 0;
let markMs = 0;

uws
  .App()
  .any('/*', (res, req) => {
    const atMs = nowMs();
    const path = req.getUrl();
    const hangs = hanging.has(path);
    res.onAborted(() => {});
    res.onData((chunk, isLast) => {
      if (isRecording) record(path, Buffer.from(chunk), atMs);
      if (!isLast || hangs) return;
      count++;
      if (firstMs === 0) firstMs = atMs;
      lastMs = atMs;
      if (count === markAt) markMs = atMs;
      res.cork(() => res.writeStatus('204 No Content').endWithoutBody());
    });
  })
  .listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket === false) throw new Error('cannot listen on a port');
    console.log(uws.us_socket_local_port(socket));
  });

function record(path: string, body: Buffer, atMs: number): void {
  const at = body.indexOf(REQUEST_ID) + REQUEST_ID.length;
  arrivals.push({ path, requestId: body.latin1Slice(at, at + ID_CHARACTERS), atMs });
}

process.on('message', (order: ReceiverOrder) => {
  switch (order.kind) {
    case 'hang':
      hanging = new Set(order.paths);
      break;
    case 'record':
      isRecording = true;
      break;
    case 'reset':
      hanging = new Set();
      isRecording = false;
      arrivals = [];
      count = 0;
      firstMs = 0;
      lastMs = 0;
      markAt = order.markAt ?? 0;
      markMs = 0;
      break;
    case 'report':
      process.send?.({ count, firstMs, lastMs, markMs, arrivals } satisfies Received);
      arrivals = [];
      break;
  }
});
