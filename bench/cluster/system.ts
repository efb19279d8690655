import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilReady } from '../open-loop/targets.ts';
import { Children, type Server } from '../webhooks/children.ts';
import { startStore, type Store, type StoreKind } from './store.ts';

/** What is compared: a server that works alone, or some nodes over one store. */
export interface System {
  readonly name: string;
  readonly origins: readonly string[];
  readonly key: string;
  readonly nodePids: readonly number[];
  /** Null for a server that works alone. */
  readonly store: Store | null;
  stop(): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

const CLI = new URL('../../app/main.js', import.meta.url).pathname;
const RATE_LIMIT = '1000000000';
const KNOWN_TRIES = 500;

/** Starts `count` nodes over a new store; 0 for a server that works alone. */
export async function openSystem(count: number, kind: StoreKind, nodeFlags: readonly string[]): Promise<System> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-nodes-'));
  const children = new Children();
  const store = count === 0 ? null : await startStore(kind);
  const stop = async (): Promise<void> => {
    await children.endAll();
    await store?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const settings = {
    GATEHOUSE_VELOCITY_MB: '64',
    GATEHOUSE_WORKERS: '1',
    GATEHOUSE_MASTER_KEY: '62656e63'.repeat(8),
    ...(store !== null && { GATEHOUSE_CLUSTER_URL: store.url }),
  };
  try {
    const servers: Server[] = [];
    // The first one alone: it makes the cluster.
    for (let node = 0; node < Math.max(1, count); node++)
      servers.push(await children.serve(join(folder, String(node)), nodeFlags, settings));
    const origins = servers.map(({ port }) => `http://127.0.0.1:${port}`);
    return {
      name: count === 0 ? 'embedded' : `${count} ${count === 1 ? 'node' : 'nodes'}`,
      origins,
      key: await keyOf(join(folder, '0'), origins, settings),
      nodePids: servers.map(({ child }) => child.pid ?? 0),
      store,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes a key whose rate limit exceeds the load, and waits until every node is ready and knows it. */
async function keyOf(dataDir: string, origins: readonly string[], settings: Settings): Promise<string> {
  const run = (...words: string[]): Record<string, string> =>
    JSON.parse(
      execFileSync(process.execPath, [CLI, '--json', '--data-dir', dataDir, ...words], {
        encoding: 'utf8',
        env: { ...process.env, ...settings },
      }),
    ) as Record<string, string>;
  const customer = run('customers', 'create', 'load')['customer_id'] ?? '';
  const key = run('keys', 'create', '--customer', customer, '--rate-limit', RATE_LIMIT)['secret_key'] ?? '';
  for (const origin of origins) {
    await untilReady(origin);
    await untilKnown(origin, key);
  }
  return key;
}

async function untilKnown(origin: string, key: string): Promise<void> {
  for (let n = 0; n < KNOWN_TRIES; n++) {
    const { status } = await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
    if (status === 200) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`${origin} does not know the key`);
}
