import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

/** What `scripts/make-data-fixture.ts` recorded about a data directory. */
export interface DataFacts {
  readonly stoppedAtMs: number;
  readonly secretKey: string;
  readonly revokedKey: string;
  /** Fingerprint in the registry. */
  readonly registered: string;
  /** Fingerprint on the customer's block list. */
  readonly blocked: string;
  readonly webhook: string;
  /** Three sign-ups from one address, and a BLOCK. */
  readonly decisions: readonly string[];
  /** The first sign-up as it was sent; its id is in the journal. */
  readonly accepted: { readonly requestId: string; readonly timestampSeconds: number; readonly body: string };
  readonly extraction: string;
}

/** What the script records since format version 2: rows in every table. */
export interface FullFacts extends DataFacts {
  /** A webhook whose receiver fails; its delivery is pending. */
  readonly failingWebhook: string;
  /** Decisions with a label, and with a verdict in the review queue. */
  readonly labelled: string;
  readonly reviewed: string;
  /** Extractions that failed, whose result is not delivered yet, and that still run. */
  readonly failed: string;
  readonly undelivered: string;
  readonly running: string;
  readonly session: string;
  /** The idempotency key and the body of the request for `extraction`. */
  readonly idempotent: { readonly key: string; readonly body: string };
}

export type FixtureVersion = 1 | 2;

interface Fixture {
  readonly facts: FullFacts;
  readonly files: Readonly<Record<'data' | 'backup', Readonly<Record<string, string>>>>;
}

/** Writes the data directory, or the backup of it, of the build before formats had versions. */
export function unpackUnversioned(which: 'data' | 'backup', folder: string): DataFacts {
  return unpackFixture(1, which, folder);
}

/** Writes the data directory of a format version, or the backup of it. Version 1 has only `DataFacts`. */
export function unpackFixture(version: 1, which: 'data' | 'backup', folder: string): DataFacts;
export function unpackFixture(version: 2, which: 'data' | 'backup', folder: string): FullFacts;
export function unpackFixture(version: FixtureVersion, which: 'data' | 'backup', folder: string): DataFacts {
  const path = new URL(`../fixtures/data-directory-${version}.json.gz`, import.meta.url);
  const packed = readFileSync(fileURLToPath(path));
  const { facts, files } = JSON.parse(gunzipSync(packed).toString()) as Fixture;
  for (const [name, content] of Object.entries(files[which])) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), Buffer.from(content, 'base64'));
  }
  return facts;
}

export interface ShiftedClock {
  /** Environment of a server with this clock. */
  readonly env: Readonly<Record<string, string>>;
  nowSeconds(): number;
}

/** Returns a clock that now shows the given time, so that nothing of a fixture has expired. */
export function clockAt(ms: number): ShiftedClock {
  const behindMs = Date.now() - ms;
  const code = `const now=Date.now;Date.now=()=>now()-${behindMs}`;
  return {
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` },
    nowSeconds: () => Math.floor((Date.now() - behindMs) / 1000),
  };
}
