import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CustomerNumber, FingerprintHash } from '../../src/kernel/brand.ts';
import { parseDecideRequest, type DecideRequest } from '../../src/risk/decide-request.ts';
import type { Facts } from '../../src/risk/facts.ts';
import { CollectorGrants } from '../../src/risk/signals/collector-grant.ts';
import { Gatherer, type GatheredFor, type Sources } from '../../src/score/gather.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';
import { createTraffic } from '../traffic.ts';

const ORIGIN = { by: 'service', nowMs: 1_000 } as const;

/** Inputs shared by several stages. */

/** 21 November 2026, noon UTC. */
export const NOW_SECONDS = Date.UTC(2026, 10, 21, 12) / 1000;
export const SEED = 20_261_121;
export const CUSTOMER = 7 as CustomerNumber;

export function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'gatehouse-micro-'));
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Copies a text into newly allocated memory: flat and without a cached hash, as a request parser creates it. */
export function fresh(text: string): string {
  return Buffer.from(text, 'latin1').latin1Slice();
}

/** For tokens without a grant. */
export const NO_GRANTS = new CollectorGrants(Buffer.alloc(32));

export function trafficBodies(count: number): Buffer[] {
  const next = createTraffic(SEED, NOW_SECONDS);
  return Array.from({ length: count }, () => Buffer.from(next()));
}

export function parsed(body: Buffer): DecideRequest {
  const outcome = parseDecideRequest(body);
  if (outcome.kind === 'fault') throw new Error(outcome.problem.detail);
  return outcome.request;
}

/** A copy of the bytes in shared memory, as a worker sees them. */
export function sharedCopy(bytes: Buffer): Buffer {
  const copy = Buffer.from(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** The smallest typical request: an opaque token, no headers. */
export function smallBody(bytes: number): Buffer {
  return padded(bytes, {
    ip: '81.2.69.160',
    user_agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
    url: 'https://shop.example/search?q=',
    session_token: 'session-20261121-4711',
    entity_keys: { user_id: 'u4711' },
    event_type: 'search',
    timestamp: NOW_SECONDS,
  });
}

/** A request with a collector token and headers. */
export function largeBody(bytes: number): Buffer {
  return padded(bytes, {
    ip: '81.2.69.160',
    user_agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
    url: 'https://shop.example/login?q=',
    referrer: 'https://shop.example/basket',
    session_token: collectorToken(0),
    entity_keys: { user_id: 'u4711', email: 'person.4711@mail.example' },
    headers: { accept: 'text/html', 'accept-language': 'en-GB,en;q=0.9', 'accept-encoding': 'gzip' },
    event_type: 'login',
    timestamp: NOW_SECONDS,
  });
}

function padded(bytes: number, body: Readonly<Record<string, unknown>> & { readonly url: string }): Buffer {
  const missing = bytes - JSON.stringify(body).length;
  if (missing < 0) throw new Error(`the body is ${-missing} bytes too long`);
  return Buffer.from(JSON.stringify({ ...body, url: body.url + 'a'.repeat(missing) }));
}

export function collectorToken(serial: number): string {
  const token = {
    v: 1,
    fp: fingerprintOf(serial),
    sid: `s${serial}`,
    iat: NOW_SECONDS - 60,
    sig: { webdriver: false, plugins: 5, languages: ['en-GB', 'en'], width: 1920, height: 1080, touch: 0 },
  };
  return fresh(`st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`);
}

export function fingerprintOf(n: number): FingerprintHash {
  return hash('sha256', `device ${n}`, 'hex') as FingerprintHash;
}

/** Empty sources (no list, no registry, no database), so that only the gathering itself is measured. */
export const NO_SOURCES: Sources = {
  findList: () => null,
  findListKey: () => null,
  listedKinds: () => null,
  findNamedList: () => null,
  hasNamedItem: () => false,
  findRegistry: () => null,
  lookupGeo: () => null,
  geoEpoch: () => 0,
  crawlersKnown: () => new Set(),
};

const LIST_SECRET = Buffer.alloc(32, 7);

export function gathererOf(sources: Sources): Gatherer {
  return new Gatherer(sources, NO_GRANTS, LIST_SECRET);
}

/** For a request of a secret key at this time. */
export function gatheredAt(nowMs: number): GatheredFor {
  return { customer: CUSTOMER, nowMs, originHash: 0, isPublicKey: false, attributes: new Map() };
}

/** Facts that fire no rule. */
export function calmFacts(): Facts {
  return factsOf(largeBody(800), NO_SOURCES);
}

/** Facts of a script without a collector token that requests a probe URL from a private address. */
export function hostileFacts(): Facts {
  const body = Buffer.from(
    JSON.stringify({
      ip: '10.1.2.3',
      user_agent: 'python-requests/2.32.3',
      url: 'https://shop.example/.git/config?file=../../etc/passwd',
      referrer: 'https://elsewhere.example/',
      session_token: 'session-20261121-666',
      entity_keys: { email: 'xk3v9q7wz2@mailinator.com' },
      headers: { accept: '*/*' },
      event_type: 'payment',
    }),
  );
  return factsOf(body, { ...NO_SOURCES, findRegistry: () => ({ risk: 90, customers: 4 }) });
}

function factsOf(body: Buffer, sources: Sources): Facts {
  return gathererOf(sources).gather(parsed(body), gatheredAt(NOW_SECONDS * 1000)).facts;
}

/** Rows per write: the store completes a few thousand well within its time limit. */
const WRITE_ROWS = 5_000;

export interface MadeStore {
  readonly store: Store;
  readonly folder: string;
  readonly close: () => Promise<void>;
}

/** Creates a temporary store with `entries` entries in the customer's list and in the registry, and opens it read-only as a worker does. */
export async function makeStore(entries: number): Promise<MadeStore> {
  const folder = makeFolder();
  const filling = opened(folder, false);
  for (let from = 0; from < entries; from += WRITE_ROWS) {
    const count = Math.min(WRITE_ROWS, entries - from);
    const fingerprints = Array.from({ length: count }, (_, i) => fingerprintOf(from + i));
    const changes = fingerprints.map((fingerprintHash) => ({
      fingerprintHash,
      action: 'watch' as const,
      note: null,
      expiresAtSeconds: null,
    }));
    const rows = fingerprints.map((fingerprintHash) => ({
      fingerprintHash,
      risk: 80,
      customers: 3,
      firstSeenSeconds: NOW_SECONDS - 86_400,
      lastSeenSeconds: NOW_SECONDS - 3_600,
    }));
    const written = [
      await filling.changes.commit({ kind: 'list.batch', customer: CUSTOMER, entries: changes }, ORIGIN),
      await filling.changes.commit({ kind: 'registry.imported', entries: rows, total: null }, ORIGIN),
    ];
    for (const outcome of written) if (outcome.kind === 'fault') throw new Error(outcome.detail);
  }
  await filling.close();
  const store = opened(folder, true);
  return {
    store,
    folder,
    close: async () => {
      await store.close();
      removeFolder(folder);
    },
  };
}

function opened(dataDir: string, readOnly: boolean): Store {
  const outcome = openStore({ dataDir, readOnly });
  if (outcome.kind === 'fault') throw new Error(outcome.detail);
  return outcome.store;
}

let collect: (() => void) | null = null;

/** Forces garbage collection, so that one stage does not pay for the garbage of another. */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}
