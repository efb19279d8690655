import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Children, Server } from '../webhooks/children.ts';
import { callSteadily } from '../webhooks/caller.ts';
import { createTraffic } from '../traffic.ts';
import { seed, type Seeded } from './seed.ts';

export interface IsolationOptions {
  /** Duration of a phase. */
  readonly seconds: number;
  readonly rounds: number;
  /** Calls per endpoint. */
  readonly repeats: number;
  /** Decisions per second. */
  readonly rate: number;
  /** Parent of the data directories; removed at the end. */
  readonly folder: string;
  readonly nodeFlags: readonly string[];
}

/** Number of decisions of the busy customer, all of them in its review queue. */
const DECISIONS = 3_000;

export async function startServer(
  name: string,
  { folder, nodeFlags, repeats }: IsolationOptions,
  children: Children,
  flags: readonly string[] = [],
): Promise<Server & Seeded> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  const policy = join(folder, 'policy.json');
  writeFileSync(policy, JSON.stringify({ sample_rate: 1 }));
  const seeded = await seed(dataDir);
  const server = await children.serve(dataDir, [...flags, ...nodeFlags], { GATEHOUSE_POLICY_FILE: policy });
  const nextBody = createTraffic(7, Math.floor(Date.now() / 1_000));
  const decisions = repeats > 1 ? DECISIONS : 100;
  await callSteadily({
    port: server.port,
    perSecond: 1_000,
    seconds: decisions / 1_000,
    callOf: () => ({ key: seeded.busyKey, body: flagged(nextBody()) }),
  });
  return { ...server, ...seeded };
}

/** Replaces the user agent by one that is not a browser, so that the decision is not ALLOW. */
function flagged(body: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), user_agent: 'curl/8.5.0', session_token: randomUUID() });
}
