import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { startBalancer } from '../../support/balancer.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

/** The network between nodes and their store, and the load balancer in front of them, as the tests of the cluster use them. */

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(server);
  return (server.address() as AddressInfo).port;
}

describe('the proxy', () => {
  async function throughProxy(): Promise<TcpProxy> {
    const port = await listening(
      createTcpServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket)),
    );
    const proxy = await startTcpProxy(port);
    open.unshift(proxy);
    return proxy;
  }
  /** Sends a word over a new connection; returns what came back and after how long. */
  async function echoed(port: number, word: string): Promise<{ readonly answer: string; readonly ms: number }> {
    const startMs = performance.now();
    const socket = connect(port, '127.0.0.1');
    socket.end(word);
    const answer = await text(socket);
    return { answer, ms: performance.now() - startMs };
  }

  test('An open network passes everything on, and a slow one delays it without mixing it up', async () => {
    const proxy = await throughProxy();
    const long = 'abcdefgh'.repeat(100_000);
    expect((await echoed(proxy.port, long)).answer === long).toBe(true);
    proxy.set(200);
    const slow = await echoed(proxy.port, long);
    expect(slow.answer === long).toBe(true);
    expect(slow.ms).toBeGreaterThanOrEqual(199);
  });

  test('A cut network resets open and new connections, and works again when it is open', async () => {
    const proxy = await throughProxy();
    const socket = connect(proxy.port, '127.0.0.1');
    socket.write('a');
    await once(socket, 'data');
    proxy.set('cut');
    await expect(once(socket, 'data')).rejects.toThrow(/ECONNRESET/);
    await expect(echoed(proxy.port, 'b')).rejects.toThrow(/ECONNRESET/);
    proxy.set('open');
    expect((await echoed(proxy.port, 'c')).answer).toBe('c');
  });

  test('In a black hole nothing arrives, and it arrives when the network is open again', async () => {
    const proxy = await throughProxy();
    proxy.set('hole');
    const socket = connect(proxy.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write('late');
    await expect.poll(() => proxy.waiting).toBe(1);
    expect(received).toBe('');
    proxy.set('open');
    await expect.poll(() => received).toBe('late');
    socket.destroy();
  });
});

describe('the balancer', () => {
  const ask = async (url: string): Promise<string> => {
    const [answer] = (await once(get(url, { agent: false }), 'response')) as [NodeJS.ReadableStream];
    return text(answer);
  };

  test('Each request goes to the next node, and a node that refuses connections is skipped', async () => {
    const nodes = ['a', 'b'].map((name) => createServer((_, res) => res.end(name)));
    const ports = [];
    for (const node of nodes) ports.push(await listening(node));
    const targets = ports.map((port) => `http://127.0.0.1:${port}`);
    const balancer = await startBalancer(() => targets);
    open.unshift(balancer);
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await ask(balancer.url));
    expect(answers).toEqual(['a', 'b', 'a', 'b']);
    nodes[0]?.close();
    expect([await ask(balancer.url), await ask(balancer.url)]).toEqual(['b', 'b']);
    expect(balancer.answered).toEqual([2, 4]);
  });
});
