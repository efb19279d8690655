import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadUws } from '../src/http/load-uws.ts';

/**
 * The bare server that decide is compared with: same library, reads the body, responds with a constant of a decision's size. It validates
 * and verifies nothing. Prints its port. Argument: `uws` or `node`.
 */
const ANSWER = JSON.stringify({
  request_id: 'req_01J00000000000000000000000',
  decision: 'ALLOW',
  score: 0,
  reasons: [],
  review_hint: '',
  session_mode: 'full',
  shadow_routed: false,
  latency_ms: 0,
});

if (process.argv[2] === 'uws') serveByUws();
else serveByNode();

function serveByUws(): void {
  const loaded = loadUws();
  if (loaded.kind === 'unavailable') throw new Error(loaded.detail);
  const { uws } = loaded;
  uws
    .App()
    .any('/*', (res) => {
      res.onAborted(() => {});
      res.onData((_chunk, isLast) => {
        if (!isLast) return;
        res.cork(() => {
          res.writeHeader('Content-Type', 'application/json');
          res.end(ANSWER);
        });
      });
    })
    .listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false) throw new Error('cannot listen on a port');
      console.log(uws.us_socket_local_port(socket));
    });
}

function serveByNode(): void {
  const server = createServer((req, res) => {
    req.resume();
    req.on('end', () => {
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': ANSWER.length });
      res.end(ANSWER);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
}
