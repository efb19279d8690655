import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect } from 'vitest';
import { type Nodes, startNodes } from './cluster.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { get } from './requests.ts';
import { type RunningServer, startNode } from './server.ts';
import { type LoadFigures, type LoadPlan, steadyLoad } from './steady-load.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { eventually } from './webhooks.ts';

/**
 * Nodes under load through faults of the shared store and of the way to it: decisions go on within their time, and everybody can see that
 * something is wrong. What a test keeps ends after it.
 */

/** Source: what the service must survive, F13. */
const MORE_MS_MAX = 30;
/**
 * Choice: a node that waits for its store exceeds the limit in each attempt; a stall of the machine does not. What the machine does
 * meanwhile shows in a server that works alone, under the same load at the same time.
 */
const ATTEMPTS_MAX = 4;
/** Decisions a second. */
export const RATE = 60;
const WARM_UP = { perSecond: RATE, seconds: 1 };
const USUAL = { perSecond: RATE, seconds: 2 };
export const FAULTY = { perSecond: RATE, seconds: 4 };
/** Until a replica has replaced its primary, and the nodes have found it. Measured: 2 to 4 s. */
export const FAILOVER = { perSecond: RATE, seconds: 6 };
/** When the fault begins, after the load. */
const FAULT_AT_MS = 300;

const open: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

export function keep<T extends { stop(): Promise<unknown> }>(one: T): T {
  open.unshift(one);
  return one;
}

type Layer = 'cluster' | 'feed' | 'velocity';

export async function untilState(
  { url }: RunningServer,
  state: 'ok' | 'broken',
  layer: Layer = 'cluster',
): Promise<void> {
  await eventually(`the layer ${layer} being ${state}`, async () => {
    const { json } = await get(url, '/readyz');
    const layers = json['layers'] as Readonly<Record<Layer, { readonly state: string }>>;
    return layers[layer].state === state ? true : null;
  });
}

export interface Fault {
  begin(): unknown;
  end(): unknown;
  /** The layer that reports it; null if the node repairs it before anybody can notice. */
  readonly noticedBy: Layer | null;
}

/** Loads a node before a fault and while it begins and lasts, until one attempt stays within the limit; returns that one. */
export async function withinTime(
  { nodes, alone }: System,
  fault: Fault,
  faultyPlan: LoadPlan = FAULTY,
): Promise<LoadFigures> {
  const tried: string[] = [];
  const node = nodes.at(0);
  const load = (plan: LoadPlan): Promise<readonly [LoadFigures, LoadFigures]> =>
    Promise.all([
      steadyLoad(() => node.url, nodes.secretKey, plan),
      steadyLoad(() => alone.url, alone.secretKey, plan),
    ]);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    await load(WARM_UP);
    const [usual] = await load(USUAL);
    const loading = load(faultyPlan);
    await sleep(FAULT_AT_MS);
    await fault.begin();
    const noticed = fault.noticedBy === null ? Promise.resolve() : untilState(node, 'broken', fault.noticedBy);
    const [faulty, machine] = await loading;
    await noticed;
    await fault.end();
    await untilState(node, 'ok');
    expect(faulty.statuses).toEqual({ 200: faultyPlan.perSecond * faultyPlan.seconds });
    if (faulty.p99Ms <= Math.max(usual.p99Ms, machine.p99Ms) + MORE_MS_MAX) return faulty;
    tried.push(`${usual.p99Ms.toFixed(0)} → ${faulty.p99Ms.toFixed(0)} ms (alone ${machine.p99Ms.toFixed(0)} ms)`);
  }
  throw new Error(`p99 before and during the fault: ${tried.join(', ')}`);
}

export interface System {
  readonly nodes: Nodes;
  /** A server without a store. */
  readonly alone: RunningServer;
}

export async function systemOver(urlOf: (node: number) => string, count = 1): Promise<System> {
  const env = { GATEHOUSE_WORKERS: '1' };
  const alone = keep(await startNode({ env }));
  const nodes = keep(await startNodes({ count, storeUrl: urlOf, env }));
  for (let node = 0; node < count; node++) await untilState(nodes.at(node), 'ok');
  return { nodes, alone };
}

export interface ProxiedSystem {
  readonly redis: RedisServer;
  /** Between the node and the store. */
  readonly proxy: TcpProxy;
  readonly system: System;
}

/** Starts one node over one store. */
export async function proxiedSystem(): Promise<ProxiedSystem> {
  const redis = keep(await startRedis());
  const proxy = await startTcpProxy(redis.port);
  keep({ stop: () => proxy.close() });
  return { redis, proxy, system: await systemOver(() => `redis://127.0.0.1:${proxy.port}`) };
}
