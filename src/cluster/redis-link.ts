import { createClient, createCluster, RESP_TYPES } from '@redis/client';
import { type ClusterAddress, type Command, type Link, LINK_DEADLINE_MS, type Reply, type Sent } from './link.ts';

type SendOne = (command: Command) => Promise<unknown>;

/** Bulk strings as buffers: values are binary. */
const OPTIONS = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

/** Opens a link and returns it at once; it is up as soon as the store answers. The client connects again by itself. */
export async function openLink({ urls, user, password }: ClusterAddress): Promise<Link> {
  const [url] = urls;
  if (url === undefined) throw new Error('a cluster needs the address of a store');
  const common = {
    RESP: 2,
    disableOfflineQueue: true,
    ...(user !== null && { username: user }),
    ...(password !== null && { password }),
  } as const;
  if (urls.length > 1) {
    const cluster = createCluster({ rootNodes: urls.map((one) => ({ url: one })), defaults: common });
    cluster.on('error', () => {});
    await cluster.connect().catch(() => {});
    const send: SendOne = ({ key, args }) => cluster.sendCommand(key, false, [...args], OPTIONS);
    return new RedisLink(
      send,
      () => true,
      () => Promise.resolve(cluster.destroy()),
    );
  }
  const client = createClient({ ...common, url });
  client.on('error', () => {});
  await client.connect().catch(() => {});
  const send: SendOne = ({ args }) => client.sendCommand([...args], OPTIONS);
  return new RedisLink(
    send,
    () => client.isReady,
    () => Promise.resolve(client.destroy()),
  );
}

class RedisLink implements Link {
  readonly #send: SendOne;
  readonly #isReady: () => boolean;
  readonly close: () => Promise<void>;

  constructor(send: SendOne, isReady: () => boolean, close: () => Promise<void>) {
    this.#send = send;
    this.#isReady = isReady;
    this.close = close;
  }

  get isUp(): boolean {
    return this.#isReady();
  }

  send(commands: readonly Command[], deadlineMs = LINK_DEADLINE_MS): Promise<readonly Sent[]> {
    return new Promise((resolve) => {
      const results: Sent[] = commands.map(() => ({
        kind: 'fault',
        what: 'unknown',
        detail: 'the store did not answer in time',
      }));
      let open = commands.length;
      const timer = setTimeout(() => resolve(results.slice()), deadlineMs);
      const settle = (at: number, sent: Sent): void => {
        results[at] = sent;
        if (--open > 0) return;
        clearTimeout(timer);
        resolve(results);
      };
      for (const [at, command] of commands.entries()) {
        this.#send(command).then(
          (reply) => settle(at, { kind: 'reply', reply: reply as Reply }),
          (error: unknown) => settle(at, faultOf(error)),
        );
      }
      if (open === 0) {
        clearTimeout(timer);
        resolve(results);
      }
    });
  }
}

function faultOf(error: unknown): Sent {
  const detail = error instanceof Error ? error.message : String(error);
  const what = error instanceof Error && error.constructor.name.endsWith('ErrorReply') ? 'refused' : 'unknown';
  return { kind: 'fault', what, detail };
}
