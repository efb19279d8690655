import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNode, type RunningServer } from './server.ts';

/** Several nodes: real servers with a data directory each, over one shared store and with one master key. */

export interface ClusterOptions {
  readonly count: number;
  /** `GATEHOUSE_CLUSTER_URL` of each node, or of all. Null for servers that do not know of each other. */
  readonly storeUrl: string | null | ((node: number) => string);
  /** Settings of all nodes. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings of one node. */
  readonly envOf?: (node: number) => Readonly<Record<string, string>>;
  /** The built program of one node, for different versions side by side. */
  readonly mainOf?: (node: number) => string | undefined;
  readonly words?: readonly string[];
  /** Options of Node.js. */
  readonly nodeFlags?: readonly string[];
}

export interface Nodes {
  readonly count: number;
  /** The node at this position, which `restart` replaces. */
  at(node: number): RunningServer;
  /** The addresses of the nodes that run. */
  urls(): readonly string[];
  /** Returns the address of another node each time, in turn. */
  nextUrl(): string;
  /** Keys of the demo customer, which all nodes know. */
  readonly secretKey: string;
  readonly publicKey: string;
  /** Settings of a node, for commands on its data directory. */
  env(node: number): Readonly<Record<string, string>>;
  /** Ends one node and keeps its folder. */
  stopNode(node: number, signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on its folder; it has another port then. */
  startNode(node: number, env?: Readonly<Record<string, string>>): Promise<RunningServer>;
  stop(): Promise<void>;
}

export const CLUSTER_MASTER_KEY = '6e6f6465'.repeat(8);

/** Starts the nodes, the first one alone: it makes the demo customer. */
export async function startNodes(options: ClusterOptions): Promise<Nodes> {
  const { count } = options;
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-nodes-'));
  const running: (RunningServer | null)[] = [];
  let turn = 0;
  const start = async (node: number, env: Readonly<Record<string, string>> = {}): Promise<RunningServer> => {
    const main = options.mainOf?.(node);
    const started = await startNode({
      dataDir: join(home, `node-${node}`),
      env: { ...envOf(options, node), ...env },
      ...(main !== undefined && { main }),
      ...(options.words !== undefined && { words: options.words }),
      ...(options.nodeFlags !== undefined && { nodeFlags: options.nodeFlags }),
    });
    running[node] = started;
    return started;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(running.map(async (server) => server?.stop('SIGKILL')));
    await rm(home, { recursive: true, force: true });
  };
  const urls = (): readonly string[] => running.flatMap((server) => (server === null ? [] : [server.url]));
  try {
    const { secretKey, publicKey } = await start(0);
    await Promise.all(Array.from({ length: count - 1 }, (_, n) => start(n + 1)));
    return {
      count,
      at(node) {
        const server = running[node];
        if (server === undefined || server === null) throw new Error(`node ${node} does not run`);
        return server;
      },
      urls,
      env: (node) => envOf(options, node),
      nextUrl: () => urls()[turn++ % urls().length] ?? '',
      secretKey,
      publicKey,
      async stopNode(node, signal) {
        await running[node]?.stop(signal);
        running[node] = null;
      },
      startNode: start,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function envOf({ storeUrl, env, envOf: own }: ClusterOptions, node: number): Readonly<Record<string, string>> {
  const url = typeof storeUrl === 'function' ? storeUrl(node) : storeUrl;
  return {
    GATEHOUSE_MASTER_KEY: CLUSTER_MASTER_KEY,
    ...(url !== null && { GATEHOUSE_CLUSTER_URL: url, GATEHOUSE_NODE_ID: `node-${node}` }),
    ...env,
    ...own?.(node),
  };
}
