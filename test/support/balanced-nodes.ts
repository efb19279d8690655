import { startBalancer } from './balancer.ts';
import { startNodes } from './cluster.ts';
import { startRedis } from './redis.ts';
import type { RunningServer, ServerOptions } from './server.ts';

/**
 * Several nodes in the place of one server: each request of a test goes to the next of them. The data directory is that of the first one,
 * and the output that of all.
 */
export async function startBalancedNodes(options: ServerOptions, count: number): Promise<RunningServer> {
  if (options.dataDir !== undefined) throw new Error('nodes have data directories of their own');
  const redis = await startRedis();
  const nodes = await startNodes({ ...options, count, storeUrl: redis.url });
  const balancer = await startBalancer(() => nodes.urls());
  const all = Array.from({ length: count }, (_, node) => nodes.at(node));
  const [first] = all;
  if (first === undefined) throw new Error('no nodes');
  return {
    ...first,
    url: balancer.url,
    secretKey: nodes.secretKey,
    publicKey: nodes.publicKey,
    stdout: () => all.map((node) => node.stdout()).join('\n'),
    stderr: () => all.map((node) => node.stderr()).join('\n'),
    async stop(signal) {
      // What waits at a node gets its response through the balancer.
      if (signal !== undefined) await Promise.all(all.map((node) => node.stop(signal)));
      await balancer.close();
      await nodes.stop();
      await redis.stop();
      return null;
    },
  };
}
