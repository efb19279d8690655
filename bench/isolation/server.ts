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
  /** Nobody reads the figures. */
  readonly isSmoke: boolean;
  readonly nodeFlags: readonly string[];
  /** Part of the names of the calls or floods to run; empty for all. */
  readonly only: string;
  /** Entries on the list of the busy customer. */
  readonly listEntries: number;
  /** Decisions of the busy customer, with eight identities each, all of them in its review queue. */
  readonly decisions: number;
}

export type Side = Server & Seeded & { readonly requestIds: readonly string[] };

const SEEDED_PER_SECOND = 1_000;

export async function startServer(
  name: string,
  { folder, nodeFlags, decisions, listEntries }: IsolationOptions,
  children: Children,
  flags: readonly string[] = [],
): Promise<Side> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  const policy = join(folder, 'policy.json');
  writeFileSync(policy, JSON.stringify({ sample_rate: 1 }));
  const seeded = await seed(dataDir, listEntries);
  const server = await children.serve(dataDir, [...flags, ...nodeFlags], { GATEHOUSE_POLICY_FILE: policy });
  const nextBody = createTraffic(7, Math.floor(Date.now() / 1_000));
  const decided = await callSteadily({
    port: server.port,
    perSecond: SEEDED_PER_SECOND,
    seconds: decisions / SEEDED_PER_SECOND,
    callOf: () => ({ key: seeded.busyKey, body: flagged(nextBody()) }),
  });
  return { ...server, ...seeded, requestIds: decided.map(({ requestId }) => requestId) };
}

const ENTITIES = ['email', 'phone', 'user_id', 'card', 'iban', 'login', 'name', 'voucher'] as const;

/** Replaces the user agent by one that is not a browser, so that the decision is not ALLOW, and the identities by new ones. */
export function flagged(body: string): string {
  const entities = Object.fromEntries(ENTITIES.map((name) => [name, randomUUID()]));
  return JSON.stringify({
    ...(JSON.parse(body) as object),
    user_agent: 'curl/8.5.0',
    session_token: randomUUID(),
    entity_keys: entities,
  });
}
