import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Argument, Link, Reply } from '../../../src/cluster/link.ts';
import { openLink } from '../../../src/cluster/redis-link.ts';

/** A real server on loopback that keeps nothing on disk. */
export interface StoreServer {
  readonly url: string;
  link(): Promise<Link>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function startStore(): Promise<StoreServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-store-'));
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const links: Link[] = [];
  const url = `redis://127.0.0.1:${port}`;
  const server: StoreServer = {
    url,
    async link() {
      const link = await openLink({ urls: [url], user: null, password: null });
      links.push(link);
      return link;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      for (const link of links) await link.close();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  for (const end = performance.now() + 10_000; performance.now() < end;) {
    const link = await openLink({ urls: [url], user: null, password: null });
    const isUp = (await ask(link, 'PING')) !== null;
    await link.close();
    if (isUp) return server;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error('the store did not start');
}

/** Returns the reply; null for a fault. */
export async function ask(link: Link, name: string, ...args: readonly Argument[]): Promise<Reply | null> {
  const [sent] = await link.send([{ key: String(args[0] ?? ''), args: [name, ...args] }], 2_000);
  return sent?.kind === 'reply' ? sent.reply : null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
