import { request } from 'node:http';
import { expect, test } from 'vitest';
import type { Exchange } from '../../../src/http/exchange.ts';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import { listenNode } from '../../../src/http/node.ts';
import type { TransportOptions } from '../../../src/http/transport.ts';
import { listenUws } from '../../../src/http/uws.ts';
import { fakeUws } from '../../support/fake-uws.ts';

function options(trusted: readonly string[], seen: string[], then: (exchange: Exchange) => void): TransportOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    trustedProxies: new TrustedProxies(trusted),
    onRequest(_head, exchange) {
      seen.push(exchange.remoteAddress());
      then(exchange);
    },
    onCrash: (error) => {
      throw error;
    },
  };
}

const CASES = [
  [[], ['203.0.113.9'], '127.0.0.1'],
  [['127.0.0.0/8'], ['203.0.113.9'], '203.0.113.9'],
  [['127.0.0.0/8'], ['1.1.1.1', '203.0.113.9'], '203.0.113.9'],
  [['127.0.0.0/8'], [], '127.0.0.1'],
] as const;

test.each(CASES)(
  'With node:http and trusted proxies %j, the client of X-Forwarded-For %j is %s',
  async (trusted, forwarded, client) => {
    const seen: string[] = [];
    const transport = await listenNode(
      options(trusted, seen, (exchange) => exchange.send(204, 'text/plain\r\nCache-Control: no-store', '', true)),
    );
    await new Promise<void>((resolve, reject) => {
      const headers = forwarded.length === 0 ? {} : { 'X-Forwarded-For': [...forwarded] };
      request({ host: '127.0.0.1', port: transport.port, headers, agent: false }, (res) => {
        res.resume().on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
    transport.drain();
    expect(seen).toEqual([client]);
  },
);

test.each(CASES)(
  'With uWebSockets.js and trusted proxies %j, the client of X-Forwarded-For %j is %s',
  async (trusted, forwarded, client) => {
    const seen: string[] = [];
    const { uws, request: begin } = fakeUws();
    await listenUws(
      uws,
      options(trusted, seen, () => {}),
    );
    begin(forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') });
    expect(seen).toEqual([client]);
  },
);
