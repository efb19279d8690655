import { createClient } from '@redis/client';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Real Redis servers on loopback: one alone, or a Cluster of 3 primaries with a replica each. Each has a folder below the system's
 * temporary folder and keeps nothing on disk. They end with the test process, also when it is killed.
 */

export interface RedisOptions {
  /** More options, as on the command line of `redis-server`: `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[];
}

export interface RedisServer {
  /** Value for `GATEHOUSE_CLUSTER_URL`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly isRunning: boolean;
  /** Runs a command on this server over a new connection. Rejects for an error reply, and if the server is silent for 2 s. */
  command(...words: readonly string[]): Promise<unknown>;
  /** Removes all keys, not the loaded functions. */
  flush(): Promise<void>;
  /** Changes an option while it runs (`CONFIG SET`). */
  configure(name: string, value: string): Promise<void>;
  /** SIGSTOP: connections stay open and nothing is answered. */
  pause(): void;
  resume(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it on the same port after `kill`; it is empty then. */
  restart(): Promise<void>;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

export interface RedisCluster {
  /** Value for `GATEHOUSE_CLUSTER_URL`: all six servers. */
  readonly url: string;
  /** The primaries of the start first. */
  readonly servers: readonly RedisServer[];
  /** Returns the present primary of this key's slot. */
  primaryOf(key: string): Promise<RedisServer>;
  /** Resolves when every running server sees a primary for every slot, and every replica has its primary's data. */
  settled(): Promise<void>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const PROGRAM = process.env['REDIS_SERVER'] ?? 'redis-server';
/** Ends a child together with the process that started it, whatever ends that one. Part of Debian's base system. */
const WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : [];
/** Choice: short, so that failovers in tests are quick, and well above a stall of a busy machine. */
const NODE_TIMEOUT_MS = 1_500;
const SILENT_MS = 30_000;
const START_MS = 60_000;
const POLL_MS = 20;
const PRIMARIES = 3;
const SLOTS = 16_384;

/** Tests that need a server are skipped on a machine without the program. */
export const HAS_REDIS = spawnSync(PROGRAM, ['--version']).status === 0;

export async function startRedis({ args = [] }: RedisOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-redis-'));
  const [port = 0] = await freePorts(1);
  return startIn(folder, port, args);
}

/** Starts 3 primaries and 3 replicas. Measured: 2 s. */
export async function startRedisCluster({ args = [] }: RedisOptions = {}): Promise<RedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-redis-'));
  const ports = await freePorts(4 * PRIMARIES);
  const busPorts = ports.splice(2 * PRIMARIES);
  const servers = await Promise.all(
    ports.map((port, n) => {
      const home = join(folder, String(n));
      mkdirSync(home);
      return startIn(home, port, [...clusterArgs(busPorts[n] ?? 0), ...args]);
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await meet(servers, busPorts);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: servers.map(({ url }) => url).join(','),
    servers,
    primaryOf: (key) => primaryOf(servers, key),
    settled: () => settled(servers),
    async flush() {
      for (const server of servers) if (await isPrimary(server)) await server.flush();
    },
    stop,
  };
}

function clusterArgs(busPort: number): readonly string[] {
  const options = {
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-node-timeout': NODE_TIMEOUT_MS,
    // A replica may replace its primary however long ago it heard of it.
    'cluster-replica-validity-factor': 0,
    'repl-diskless-sync-delay': 0,
    'repl-ping-replica-period': 1,
  };
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

async function startIn(folder: string, port: number, args: readonly string[]): Promise<RedisServer> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...args];
  let child = await launch(folder, port, options);
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    if (!isRunning()) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const command = (...words: readonly string[]): Promise<unknown> => run(port, words);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    get isRunning() {
      return isRunning();
    },
    command,
    flush: async () => void (await command('FLUSHALL')),
    configure: async (name, value) => void (await command('CONFIG', 'SET', name, value)),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill,
    async restart() {
      await kill();
      child = await launch(folder, port, options);
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server answers. */
async function launch(folder: string, port: number, options: readonly string[]): Promise<ChildProcess> {
  const [program = PROGRAM, ...words] = [...WITH_PARENT, PROGRAM, ...options];
  const child = spawn(program, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-2_000)));
  let hasEnded = false;
  child.once('error', (error) => (hasEnded = (output = `${PROGRAM}: ${error.message}`) !== ''));
  child.once('exit', () => (hasEnded = true));
  try {
    await until(`${PROGRAM} on port ${port}`, async () => hasEnded || (await answers(port)));
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  if (hasEnded) throw new Error(`${PROGRAM} did not start\n${output}`);
  return child;
}

async function answers(port: number): Promise<boolean> {
  return run(port, ['PING']).then(
    (reply) => reply === 'PONG',
    () => false,
  );
}

async function run(port: number, words: readonly string[]): Promise<unknown> {
  const client = createClient({
    url: `redis://127.0.0.1:${port}`,
    disableClientInfo: true,
    socket: { connectTimeout: SILENT_MS, reconnectStrategy: false },
  });
  client.on('error', () => {});
  let silent: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    silent = setTimeout(
      () => reject(new Error(`port ${port}: no answer to ${words[0]} in ${SILENT_MS} ms`)),
      SILENT_MS,
    );
  });
  try {
    return await Promise.race([client.connect().then(() => client.sendCommand([...words])), silence]);
  } finally {
    clearTimeout(silent);
    client.destroy();
  }
}

/** Forms the Cluster: the first half of the servers shares the slots, each of the others replicates one of them. */
async function meet(servers: readonly RedisServer[], busPorts: readonly number[]): Promise<void> {
  const [first] = servers;
  for (const [n, server] of servers.entries()) {
    // Equal epochs of servers that start together would have to be resolved among them, which takes seconds.
    await server.command('CLUSTER', 'SET-CONFIG-EPOCH', String(n + 1));
    await first?.command('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(busPorts[n]));
    if (n >= PRIMARIES) continue;
    const slotAt = (at: number): number => Math.floor((at * SLOTS) / PRIMARIES);
    await server.command('CLUSTER', 'ADDSLOTSRANGE', String(slotAt(n)), String(slotAt(n + 1) - 1));
  }
  const ids = await Promise.all(servers.map(async (server) => String(await server.command('CLUSTER', 'MYID'))));
  for (const [n, server] of servers.slice(PRIMARIES).entries())
    await until(`replica ${n}`, () =>
      server.command('CLUSTER', 'REPLICATE', ids[n] ?? '').then(
        () => true,
        // It does not know the primary yet.
        () => false,
      ),
    );
  await settled(servers);
}

async function settled(servers: readonly RedisServer[]): Promise<void> {
  const isSettled = async (server: RedisServer): Promise<boolean> => {
    if (!server.isRunning) return true;
    try {
      const info = String(await server.command('CLUSTER', 'INFO'));
      const replication = String(await server.command('INFO', 'replication'));
      const isLinked = /^role:master/m.test(replication) || /^master_link_status:up/m.test(replication);
      return /^cluster_state:ok/m.test(info) && /^cluster_known_nodes:6/m.test(info) && isLinked;
    } catch {
      return false;
    }
  };
  await until('the Redis Cluster', async () => (await Promise.all(servers.map(isSettled))).every(Boolean));
}

async function primaryOf(servers: readonly RedisServer[], key: string): Promise<RedisServer> {
  let found: RedisServer | undefined;
  await until(`the primary of ${key}`, async () => {
    for (const asked of servers) {
      if (!asked.isRunning) continue;
      const port = await portOf(asked, key).catch(() => 0);
      found = servers.find((server) => server.port === port && server.isRunning);
      if (found !== undefined) return true;
    }
    return false;
  });
  if (found === undefined) throw new Error(`${key} has no primary`);
  return found;
}

/** Returns the port of the primary of this key in the view of one server. */
async function portOf(server: RedisServer, key: string): Promise<number> {
  const slot = Number(await server.command('CLUSTER', 'KEYSLOT', key));
  const ranges = (await server.command('CLUSTER', 'SLOTS')) as readonly [number, number, readonly [string, number]][];
  return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1] ?? 0;
}

async function isPrimary(server: RedisServer): Promise<boolean> {
  if (!server.isRunning) return false;
  return /^role:master/m.test(String(await server.command('INFO', 'replication')));
}

/** Polls until it holds; throws after 60 s. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + START_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`timed out after ${START_MS} ms waiting for ${what}`);
    await sleep(POLL_MS);
  }
}

/** Below the ports that Linux gives to connections, so that a server that is started again finds its port free. */
const PORT_MIN = 10_000;
const PORTS = 22_000;

/** Returns ports of loopback that nothing uses now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = [];
  while (held.length < count) {
    const one = await listenAt(PORT_MIN + Math.floor(Math.random() * PORTS));
    if (one !== null) held.push(one);
  }
  const ports = held.map((one) => (one.address() as AddressInfo).port);
  await Promise.all(held.map((one) => once(one.close(), 'close')));
  return ports;
}

/** Null if the port is taken. */
async function listenAt(port: number): Promise<Server | null> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return null;
  }
}
