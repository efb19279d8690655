import { afterAll, beforeAll, vi } from 'vitest';
import type { Argument, Link, MeasuredLink, Reply } from '../../src/cluster/store/link.ts';
import { openLink, openWaitingLink } from '../../src/cluster/store/redis-link.ts';
import { type RedisServer, startRedis } from './redis.ts';

/** A Redis server on loopback, and links to it that are closed before it stops. */
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

/** Starts a server before the tests of this file, with a link to it, and stops both after them. Both may be used within tests only. */
export function useStoreLink(): { readonly redis: RedisServer; readonly link: MeasuredLink } {
  const own: { redis?: RedisServer; link?: MeasuredLink } = {};
  beforeAll(async () => {
    own.redis = await startRedis();
    const link = openLink({ urls: [own.redis.url], user: null, password: null });
    own.link = link;
    await vi.waitUntil(() => link.isUp, { timeout: 20_000 });
  });
  afterAll(async () => {
    await own.link?.close();
    await own.redis?.stop();
  });
  return {
    get redis() {
      if (own.redis === undefined) throw new Error('the server does not run yet');
      return own.redis;
    },
    get link() {
      if (own.link === undefined) throw new Error('the link is not open yet');
      return own.link;
    },
  };
}

/** Returns the reply; null for a fault. */
export async function ask(link: Link, name: string, ...args: readonly Argument[]): Promise<Reply | null> {
  const [sent] = await link.send([{ key: String(args[0] ?? ''), args: [name, ...args] }], 2_000);
  return sent?.kind === 'reply' ? sent.reply : null;
}

/** Returns the same link with another `send`. */
export function withSend(link: Link, send: Link['send']): Link {
  return new Proxy(link, {
    get(target, name) {
      if (name === 'send') return send;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
