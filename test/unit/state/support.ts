import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import type { StoreWrite } from '../../../src/state/tables/durable.ts';
import type { RegistryEntry } from '../../../src/state/tables/registry-table.ts';
import { openStore, type Store } from '../../../src/state/feed/open-store.ts';

/** Creates a temporary folder for the test, removed afterwards. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function open(dataDir: string, readOnly = false): Store {
  const opened = openStore({ dataDir, readOnly });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  return opened.store;
}

/** Opens a store that is closed after the test. */
export function tempStore(): Store {
  const folder = tempFolder();
  const store = open(folder);
  onTestFinished(() => store.close());
  return store;
}

export async function value<T>(write: Promise<StoreWrite<T>>): Promise<T> {
  const result = await write;
  if (result.kind === 'fault') throw new Error(`${result.code}: ${result.detail}`);
  return result.value;
}

export function hashOf(seed: number): FingerprintHash {
  return seed.toString(16).padStart(64, '0') as FingerprintHash;
}

/** Returns entries of the registry for the hashes of 0, 1, and so on. */
export function registryEntries(count: number): readonly RegistryEntry[] {
  return Array.from({ length: count }, (_none, seed) => ({
    fingerprintHash: hashOf(seed),
    risk: 90,
    customers: 3,
    firstSeenSeconds: 1,
    lastSeenSeconds: 2,
  }));
}

export function customer(number: number): CustomerNumber {
  return number as CustomerNumber;
}
