import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lineOf } from '../webhooks/children.ts';
import { readStore, sumStores, type StoreReading } from './store-figures.ts';

/** Redis on this machine: one server, or 3 primaries with a replica each. */
export interface Store {
  /** Value for `GATEHOUSE_CLUSTER_URL`. */
  readonly url: string;
  readonly pids: readonly number[];
  /** Sets all counts to 0. */
  reset(): void;
  read(): StoreReading;
  stop(): Promise<void>;
}

export type StoreKind = 'single' | 'cluster';

const SCRIPT = new URL('../../../scripts/redis-cluster.sh', import.meta.url).pathname;

export async function startStore(kind: StoreKind): Promise<Store> {
  const child = spawn('bash', [SCRIPT, ...(kind === 'single' ? ['--single'] : [])], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const url = await lineOf(child, (line) => line.startsWith('redis://'));
  const urls = url.split(',');
  return {
    url,
    pids: urls.map((one) => Number(/^process_id:(\d+)/m.exec(ask(one, 'info', 'server'))?.[1])),
    reset() {
      for (const one of urls) ask(one, 'config', 'resetstat');
    },
    read: () => sumStores(urls.map((one) => readStore(ask(one, 'info', 'commandstats', 'stats', 'memory')))),
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function ask(url: string, ...words: string[]): string {
  return execFileSync('redis-cli', ['-u', url, ...words], { encoding: 'utf8' });
}
