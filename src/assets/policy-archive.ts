import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parsePolicy } from '../risk/policy/policy-check.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { POLICIES_KEPT_BYTES_MAX, POLICIES_KEPT_MAX } from '../kernel/limits.ts';
import type { AssetLog } from './settling.ts';

/** A policy that applied from `atMs` until the next one. */
export interface KeptPolicy {
  /** The service's clock, Unix ms. */
  readonly atMs: number;
  /** Null if it was kept by another build and this one cannot read it. */
  readonly document: PolicyDocument | null;
  /** False for the defaults, which apply without a policy file. */
  readonly isFile: boolean;
}

interface Entry extends KeptPolicy {
  /** Identifies the text: its SHA-256, or `default`. */
  readonly digest: string;
  readonly bytes: number;
}

/** Folder in the data directory. */
export const POLICIES_NAME = 'policies';

const DEFAULT_DIGEST = 'default';
const NAME = /^(?<at>\d{1,15})-(?<digest>[0-9a-f]{64}|default)\.json$/;

/**
 * The newest policies that applied, the present one included, so that a decision can be explained with the bands of its time and a reload
 * with its differences. Each is one file, written in the background; a killed process may lose the newest one. A start with the same text
 * adds none.
 * Bounds: `POLICIES_KEPT_MAX` policies, `POLICIES_KEPT_BYTES_MAX` bytes of text, but always the present one.
 * Failure direction: open. What cannot be written or read is not known later.
 */
export class PolicyArchive {
  readonly #folder: string;
  readonly #log: AssetLog;
  /** Oldest first. */
  #entries: Entry[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string, log: AssetLog) {
    this.#folder = folder;
    this.#log = log;
  }

  /** Reads the kept policies; call once, before `add`. Never rejects. */
  async read(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    const found = names.flatMap((name) => {
      const { at, digest } = NAME.exec(name)?.groups ?? {};
      return at === undefined || digest === undefined ? [] : [{ name, atMs: Number(at), digest }];
    });
    found.sort((a, b) => a.atMs - b.atMs);
    for (const { name, atMs, digest } of found.slice(-POLICIES_KEPT_MAX)) {
      const text = await readFile(join(this.#folder, name), 'utf8').catch(() => null);
      const document = text === null ? null : documentOf(text, digest);
      this.#entries.push({ atMs, digest, document, isFile: digest !== DEFAULT_DIGEST, bytes: text?.length ?? 0 });
    }
  }

  /** Adds the policy that applies from now on; null for the defaults. Does nothing if it is the newest one. */
  add(loaded: { readonly text: string; readonly document: PolicyDocument } | null, nowMs: number): void {
    const digest = loaded === null ? DEFAULT_DIGEST : createHash('sha256').update(loaded.text).digest('hex');
    const newest = this.#entries.at(-1);
    if (newest?.digest === digest && newest.document !== null) return;
    const atMs = Math.max(Math.floor(nowMs), (newest?.atMs ?? -1) + 1);
    const document = loaded?.document ?? DEFAULT_DOCUMENT;
    const text = loaded?.text ?? '{}';
    this.#entries.push({ atMs, digest, document, isFile: loaded !== null, bytes: text.length });
    const dropped = this.#drop();
    this.#writing = this.#writing.then(() => this.#write(`${atMs}-${digest}.json`, text, dropped));
  }

  /** Newest first; the first one applies. */
  get all(): readonly KeptPolicy[] {
    return this.#entries.toReversed();
  }

  /** Returns the policy that applied at a time; null if it is not kept, or cannot be read. */
  at(ms: number): PolicyDocument | null {
    return this.#entries.findLast(({ atMs }) => atMs <= ms)?.document ?? null;
  }

  /** Resolves when everything is written. */
  close(): Promise<void> {
    return this.#writing;
  }

  #drop(): readonly Entry[] {
    let bytes = 0;
    let kept = 0;
    for (const entry of this.#entries.toReversed()) {
      bytes += entry.bytes;
      if (kept > 0 && (kept === POLICIES_KEPT_MAX || bytes > POLICIES_KEPT_BYTES_MAX)) break;
      kept++;
    }
    return this.#entries.splice(0, this.#entries.length - kept);
  }

  async #write(name: string, text: string, dropped: readonly Entry[]): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true });
      const path = join(this.#folder, name);
      await writeFile(`${path}.new`, text);
      await rename(`${path}.new`, path);
      for (const { atMs, digest } of dropped) await rm(join(this.#folder, `${atMs}-${digest}.json`), { force: true });
    } catch (error) {
      this.#log.warn({ err: error }, 'the policy could not be kept for later explanations');
    }
  }
}

function documentOf(text: string, digest: string): PolicyDocument | null {
  if (digest === DEFAULT_DIGEST) return DEFAULT_DOCUMENT;
  const parsed = parsePolicy(text);
  return parsed.kind === 'faults' ? null : parsed.document;
}
