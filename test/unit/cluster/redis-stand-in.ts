import { vi } from 'vitest';
import type { Argument, Link, Reply } from '../../../src/cluster/link.ts';
import { openLink, openWaitingLink } from '../../../src/cluster/redis-link.ts';
import { startRedis } from '../../support/redis.ts';

/** A real server on loopback, with links that are closed before it stops. */
export interface StoreServer {
  readonly url: string;
  /** `space`: a database of its own, 0 to 255; lost when the link reconnects. `isWaiting`: for commands that block. */
  link(space?: number, isWaiting?: boolean): Promise<Link>;
  /** Returns the number of a space that nobody has used. */
  newSpace(): number;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function startStore(): Promise<StoreServer> {
  const server = await startRedis({ args: ['--databases', '256'] });
  const links: Link[] = [];
  let spaces = 0;
  return {
    url: server.url,
    newSpace: () => ++spaces % 256,
    async link(space = 0, isWaiting = false) {
      const link = (isWaiting ? openWaitingLink : openLink)({ urls: [server.url], user: null, password: null });
      links.push(link);
      await vi.waitUntil(() => link.isUp, { timeout: 5_000 });
      if (space > 0) await ask(link, 'SELECT', String(space));
      return link;
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    async stop() {
      for (const link of links) await link.close();
      await server.stop();
    },
  };
}

/** Returns the reply; null for a fault. */
export async function ask(link: Link, name: string, ...args: readonly Argument[]): Promise<Reply | null> {
  const [sent] = await link.send([{ key: String(args[0] ?? ''), args: [name, ...args] }], 2_000);
  return sent?.kind === 'reply' ? sent.reply : null;
}
