import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A load balancer without memory: each request goes to the next node, also on a connection that stays open. */

export interface Balancer {
  readonly url: string;
  /** Requests that each node has answered. */
  readonly answered: readonly number[];
  close(): Promise<void>;
}

/** `targets` returns the addresses now; one that refuses the connection is skipped, as a health check would do. */
export async function startBalancer(targets: () => readonly string[]): Promise<Balancer> {
  const answered: number[] = [];
  let turn = 0;
  const server = createServer((req, res) => {
    void bodyOf(req).then(
      (body) => {
        const urls = targets();
        const first = turn++ % urls.length;
        const attempt = async (n: number): Promise<void> => {
          const at = (first + n) % urls.length;
          const sent = await forward(urls[at] ?? '', req, body, res);
          if (sent === 'answered') answered[at] = (answered[at] ?? 0) + 1;
          else if (sent === 'refused' && n + 1 < urls.length) await attempt(n + 1);
          else res.destroy();
        };
        return attempt(0);
      },
      () => res.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    async close() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** `refused`: the node has not seen the request. */
type Sent = 'answered' | 'refused' | 'lost';

function forward(url: string, req: IncomingMessage, body: Buffer, res: ServerResponse): Promise<Sent> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const onward = request(
      { hostname, port, method: req.method, path: req.url, headers: onwardHeaders(req), agent: false },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, withoutConnection(answer.rawHeaders));
        answer.pipe(res);
        answer.on('end', () => resolve('answered'));
        answer.on('error', () => resolve('lost'));
      },
    );
    onward.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'lost'));
    res.on('close', () => onward.destroy());
    onward.end(body);
  });
}

/** The headers as they came, duplicates included. */
function onwardHeaders({ rawHeaders }: IncomingMessage): readonly string[] {
  return withoutConnection(rawHeaders);
}

/** Removes what belongs to one connection. */
function withoutConnection(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (!/^(connection|keep-alive|transfer-encoding)$/i.test(name)) kept.push(name, value);
  }
  return kept;
}
