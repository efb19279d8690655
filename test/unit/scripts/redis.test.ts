import { createClient, createCluster } from '@redis/client';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_REDIS, startRedis, startRedisCluster, type RedisCluster, type RedisServer } from '../../support/redis.ts';
import { eventually } from '../../support/webhooks.ts';

/** The Redis servers that the tests of the cluster rely on. */

const SCRIPT = fileURLToPath(new URL('../../../scripts/redis-cluster.sh', import.meta.url));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe.skipIf(!HAS_REDIS)('a single server', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test('A paused server accepts connections and answers when it is resumed', async () => {
    await redis.command('SET', 'a', '1');
    redis.pause();
    await expect(redis.command('GET', 'a')).rejects.toThrow(/no answer/);
    redis.resume();
    expect(await redis.command('GET', 'a')).toBe('1');
  });

  test('A killed server refuses connections, and is empty on the same port after its restart', async () => {
    const { pid, url } = redis;
    await redis.command('SET', 'a', '1');
    await redis.kill();
    expect(isAlive(pid)).toBe(false);
    await expect(redis.command('GET', 'a')).rejects.toThrow(/ECONNREFUSED/);
    await redis.restart();
    expect(redis.url).toBe(url);
    expect(await redis.command('GET', 'a')).toBeNull();
  });

  test('Options can change while it runs: a full server refuses writes', async () => {
    await redis.configure('maxmemory', '1');
    await expect(redis.command('SET', 'a', '1')).rejects.toThrow(/OOM/);
    await redis.configure('maxmemory', '0');
    expect(await redis.command('SET', 'a', '1')).toBe('OK');
  });

  test('A program that does not start is reported with its output', async () => {
    await expect(startRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow(/Bad directive/);
  });

  test('A server ends when the process that started it is killed', async () => {
    const support = new URL('../../support/redis.ts', import.meta.url).href.replace('/test/', '/dist/test/');
    const program = `const { startRedis } = await import(${JSON.stringify(support.replace(/ts$/, 'js'))});
      console.log((await startRedis()).pid);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGKILL');
    await eventually('the end of the server', async () => (isAlive(pid) ? null : true));
  });
});

describe.skipIf(!HAS_REDIS)('a Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());

  test('A killed primary is replaced by its replica, which has the data, and joins again as a replica', async () => {
    const client = await createCluster({ rootNodes: cluster.url.split(',').map((url) => ({ url })) }).connect();
    await client.set('{tag}:a', '1');
    client.destroy();
    const primary = await cluster.primaryOf('{tag}:a');
    await primary.command('WAIT', '1', '1000');
    await primary.kill();
    const next = await eventually('the next primary', async () => {
      const found = await cluster.primaryOf('{tag}:b').catch(() => null);
      return found === primary ? null : found;
    });
    await cluster.settled();
    expect(await next.command('GET', '{tag}:a')).toBe('1');
    await primary.restart();
    await cluster.settled();
    expect(String(await primary.command('INFO', 'replication'))).toContain('role:slave');
  });
});

describe.skipIf(!HAS_REDIS)('scripts/redis-cluster.sh', () => {
  test('The script runs a command with the address of a Cluster, and leaves no process behind', async () => {
    const program = 'echo "$GATEHOUSE_CLUSTER_URL"; redis-cli -u "${GATEHOUSE_CLUSTER_URL%%,*}" cluster info; exit 3';
    const { status, stdout } = spawnSync('bash', [SCRIPT, 'sh', '-c', program], { encoding: 'utf8' });
    expect(status).toBe(3);
    expect(stdout).toMatch(/^(redis:\/\/127\.0\.0\.1:\d+,?){6}\n/);
    expect(stdout).toContain('cluster_state:ok');
    expect(stdout).toContain('cluster_size:3');
    const first = /redis:\/\/[^,]+/.exec(stdout)?.[0] ?? '';
    const client = createClient({ url: first, socket: { reconnectStrategy: false } }).on('error', () => {});
    await expect(client.connect()).rejects.toThrow(/ECONNREFUSED/);
  });
});
