import { createHmac, randomUUID } from 'node:crypto';
import type { SharedPoliteness } from '../../ports/politeness.ts';
import type { Command, Link } from '../store/link.ts';
import { callStore, scriptCommand } from '../store/store-calls.ts';
import { extractionKey } from '../store/store-keys.ts';

export interface RedisPolitenessParts {
  readonly link: Link;
  /** Derived from the master key: the store sees no names of domains. */
  readonly key: Uint8Array;
  /** Ms between the starts of two requests to a domain, and requests at a time: the same on all nodes. */
  readonly limits: { readonly gapMs: number; readonly concurrency: number };
  /** Number of live nodes. */
  nodes(): number;
  readonly slotMs?: number;
}

/** Choice: a slot of a dead node is free again after this; a live node renews its slots three times as often. */
const SLOT_MS = 15_000;
const RENEWALS = 3;
/** Milliseconds between two tries while other nodes hold all slots. Choice: a page takes about as long. */
const BUSY_MS = 100;
/** Choice: a request waits for its domain anyway, so a slow store is no reason for the local limits. */
const DEADLINE_MS = 250;
/** Choice: a pause that a source asked for is kept at least this long, as in `DomainClock`. */
const KEPT_MS = 60_000;

/**
 * KEYS: hash of the domain, sorted set of its slots by their expiry. ARGV: slot, gap, concurrency, lease, ms to wait if all are taken.
 * Times are those of the store, so that the nodes' clocks do not matter. Returns the ms to wait; 0 if the slot was taken.
 */
const ACQUIRE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local known = redis.call('HMGET', KEYS[1], 'started', 'crawl', 'paused')
local gap = math.max(tonumber(ARGV[2]), tonumber(known[2] or 0))
local start = math.max(tonumber(known[1] or 0) + gap, tonumber(known[3] or 0))
if start > now then return start - now end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then return tonumber(ARGV[5]) end
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('HSET', KEYS[1], 'started', now)
local kept = math.max(redis.call('PTTL', KEYS[1]), gap, ${KEPT_MS})
redis.call('PEXPIRE', KEYS[1], kept)
return 0`;

/** KEYS: slots. ARGV: lease, slots … Extends those that are still held. */
const RENEW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0`;

/** KEYS: hash of the domain. ARGV: pause in ms or '', crawl delay in ms or ''. */
const REPORT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = math.max(redis.call('PTTL', KEYS[1]), ${KEPT_MS})
if ARGV[1] ~= '' then
  local paused = math.max(tonumber(redis.call('HGET', KEYS[1], 'paused') or 0), now + ARGV[1])
  redis.call('HSET', KEYS[1], 'paused', paused)
  kept = math.max(kept, paused - now)
end
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'crawl', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], kept)
return 0`;

/** Gaps and slots per domain in the store, one script for each request that starts. */
export class RedisPoliteness implements SharedPoliteness {
  readonly #parts: RedisPolitenessParts;
  /** Told apart from the slots of other nodes, and of an earlier run of this one. */
  readonly #run = randomUUID();
  /** Domain → slots that this node holds. */
  readonly #held = new Map<string, Set<string>>();
  readonly #slotMs: number;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: RedisPolitenessParts) {
    this.#parts = parts;
    this.#slotMs = parts.slotMs ?? SLOT_MS;
  }

  get nodes(): number {
    return Math.max(1, this.#parts.nodes());
  }

  async acquire(domain: string, slot: string): Promise<number | null> {
    const { gapMs, concurrency } = this.#parts.limits;
    const args = [this.#named(slot), gapMs, concurrency, this.#slotMs, BUSY_MS].map(String);
    const acquire = scriptCommand(ACQUIRE, this.#keysOf(domain), args);
    const waitMs = await callStore(this.#parts.link, acquire, Number, DEADLINE_MS);
    if (waitMs.kind === 'away') return null;
    if (waitMs.value === 0) this.#hold(domain, slot);
    return waitMs.value;
  }

  release(domain: string, slot: string): void {
    const held = this.#held.get(domain);
    held?.delete(slot);
    if (held?.size === 0) this.#held.delete(domain);
    const slots = this.#keysOf(domain)[1] ?? '';
    this.#send([{ key: slots, args: ['ZREM', slots, this.#named(slot)] }]);
  }

  report(domain: string, { retryAfterMs, crawlDelayMs }: Parameters<SharedPoliteness['report']>[1]): void {
    const [key = ''] = this.#keysOf(domain);
    const args = [retryAfterMs, crawlDelayMs].map((ms) => (ms === undefined ? '' : String(Math.round(ms))));
    this.#send([scriptCommand(REPORT, [key], args)]);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #hold(domain: string, slot: string): void {
    const held = this.#held.get(domain) ?? new Set();
    this.#held.set(domain, held.add(slot));
    this.#timer ??= setInterval(() => this.#renew(), this.#slotMs / RENEWALS).unref();
  }

  #renew(): void {
    if (this.#held.size === 0) return this.close();
    this.#send(
      Array.from(this.#held, ([domain, held]) => {
        const slots = this.#keysOf(domain)[1] ?? '';
        const named = Array.from(held, (slot) => this.#named(slot));
        return scriptCommand(RENEW, [slots], [String(this.#slotMs), ...named]);
      }),
    );
  }

  #named(slot: string): string {
    return `${this.#run}/${slot}`;
  }

  #keysOf(domain: string): readonly string[] {
    const hash = createHmac('sha256', this.#parts.key).update(domain).digest('hex').slice(0, 32);
    return [extractionKey(hash, 'domain'), extractionKey(hash, 'slots')];
  }

  /** Results do not matter: a lost release ends with its lease, and a lost report is repeated by the source. */
  #send(commands: readonly Command[]): void {
    void this.#parts.link.send(commands, DEADLINE_MS);
  }
}
