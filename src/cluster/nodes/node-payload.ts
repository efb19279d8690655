import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { NodeState } from './membership-beat.ts';

/** A node's description of itself for the others. */
export interface NodeFacts {
  readonly version: string;
  readonly roles: readonly string[];
  /** Base address of its API as it knows it itself. */
  readonly url: string;
  readonly startedAtMs: number;
  /** Its position in the feed of changes. */
  readonly feedPosition: string;
}

/** Encrypted content of a node's row. */
export interface Said {
  readonly facts: NodeFacts;
  /** Random; distinguishes the runs of all nodes. */
  readonly run: string;
  /** 0 in the beat with which it joins. */
  readonly epoch: number;
  /** Counts the beats of the run, so that a copy of an earlier one is recognised. */
  readonly beat: number;
  readonly state: NodeState;
  /** On the store's clock, as far as the node knew it. */
  readonly atMs: number;
  readonly format: number;
}

const STATES: readonly NodeState[] = ['up', 'stopped', 'left'];

export function encryptSaid(key: Buffer, id: string, said: Said): Buffer {
  const { version, roles, url, startedAtMs, feedPosition } = said.facts;
  const about = [version, [...roles], url, startedAtMs, feedPosition];
  const proof = [said.run, said.epoch, Math.round(said.atMs), said.format, said.beat, STATES.indexOf(said.state)];
  return encrypt(key, pack([...about, ...proof]), contextOf(id));
}

/** Returns null if no node of this id has written it. */
export function decryptSaid(key: Buffer, id: string, payload: Buffer): Said | null {
  const plain = decrypt(key, payload, contextOf(id));
  if (plain === null) return null;
  try {
    const [version, roles, url, startedAtMs, feedPosition, run, epoch, atMs, format = 1, beat = 0, at = 0] =
      unpack(plain);
    const names = Array.isArray(roles) ? roles.map(String) : [];
    const facts = { version: String(version), roles: names, url: String(url), feedPosition: String(feedPosition) };
    return {
      facts: { ...facts, startedAtMs: Number(startedAtMs) },
      run: String(run),
      epoch: Number(epoch),
      beat: Number(beat),
      state: STATES[Number(at)] ?? 'up',
      atMs: Number(atMs),
      format: Number(format),
    };
  } catch {
    return null;
  }
}

function contextOf(id: string): string {
  return `cluster-node/${id}`;
}
