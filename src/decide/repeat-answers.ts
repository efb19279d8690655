import { hash } from 'node:crypto';
import type { CustomerNumber } from '../kernel/brand.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { RequestHead } from '../http/exchange.ts';
import { JSON_FIELDS } from '../http/reply.ts';
import type { Key } from '../auth/key-cache.ts';
import type { Pending, Repeatable, RequestRepeat } from './pending-decision.ts';
import { rateFields } from './rate-fields.ts';
import { ID_AT, ID_CHARACTERS } from './request-sink.ts';
import type { RepeatedRequests } from './repeated-requests.ts';
import type { Simulated } from './simulator.ts';

export interface RepeatParts {
  readonly requests: RepeatedRequests;
  /** Decides without counting, storing or sending anything. */
  readonly simulate: (customer: CustomerNumber, body: Uint8Array, nowMs: number) => Promise<Simulated>;
  readonly nowMs: () => number;
}

/** What the pipeline does for a request that is answered without a batch. */
interface RepeatReplies {
  /** Writes the request id, so that a restart refuses it; false if it could not be written and was refused. */
  readonly write: (pending: Pending) => boolean;
  readonly refuse: (pending: Pending, fault: Problem) => void;
}

/** Choice: a caller sends a request again once or twice. */
const REPEATS_WAITING_MAX = 8;
/** A header of our own, so the text of a response without it stays the same. */
const REPLAYED_FIELD = '\r\nIdempotent-Replayed: true';
/** Source: contract, 5.6. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Returns the key and a copy of the body; null without a key, and for a public key, with which anybody could read what others sent. */
export function requestRepeat(head: RequestHead, key: Key, body: Uint8Array): RequestRepeat | Problem | null {
  const given = head.cold.get('idempotency-key');
  if (given === '' || key.kind === 'public') return null;
  if (!KEY.test(given)) return idempotencyFault('it must have 1 to 255 visible ASCII characters');
  return { key: given, bodyHash: hash('sha256', body, 'base64'), body: Uint8Array.from(body), first: null };
}

function idempotencyFault(message: string): Problem {
  return problem('invalid_request', `Idempotency-Key: ${message}.`, {
    errors: [{ pointer: '/idempotency-key', code: 'invalid_value', message }],
  });
}

/** Answers requests that were sent before with the same `Idempotency-Key`. */
export class RepeatAnswers {
  readonly #parts: RepeatParts;
  readonly #replies: RepeatReplies;

  constructor(parts: RepeatParts, replies: RepeatReplies) {
    this.#parts = parts;
    this.#replies = replies;
  }

  /** Returns an admitted request that is to be decided; null for one that was answered, or will be with the first of its key. */
  admit(pending: Pending): Pending | null {
    const { repeat, key } = pending.request;
    if (repeat === undefined) return pending;
    const claim = this.#parts.requests.claim(key.customer, repeat.key, repeat.bodyHash);
    switch (claim.kind) {
      case 'first':
        repeat.first = claim.of;
        return pending;
      case 'pending':
        if (claim.of.waiting.length < REPEATS_WAITING_MAX) claim.of.waiting.push(pending);
        else this.#replies.refuse(pending, WAITING);
        return null;
      case 'answered':
        this.#answer(pending, claim.of.answer ?? '');
        return null;
      case 'outdated':
        void this.#decideAgain(pending, repeat, claim.of, claim.before);
        return null;
      case 'conflict':
        this.#replies.refuse(pending, idempotencyFault('it was used with another body'));
        return null;
    }
  }

  /** Call when a request was answered: with the body of its response, or the fault. Those that waited for it get the same. */
  finish({ request: { repeat } }: Pending, outcome: string | Problem): void {
    if (repeat === undefined || repeat.first === null) return;
    this.#finish(repeat.first, outcome);
  }

  #finish(of: Repeatable, outcome: string | Problem, others: readonly Pending[] = []): void {
    const waiting = this.#parts.requests.finish(of, typeof outcome === 'string' ? outcome : null);
    for (const pending of [...others, ...waiting]) {
      if (typeof outcome === 'string') this.#answer(pending, outcome);
      else this.#replies.refuse(pending, outcome);
    }
  }

  #answer(pending: Pending, body: string): void {
    if (!this.#replies.write(pending)) return;
    pending.request.exchange.send(200, JSON_FIELDS + rateFields(pending) + REPLAYED_FIELD, body);
  }

  /** Lists or rules were written since the first answer. Never rejects. */
  async #decideAgain(pending: Pending, { body }: RequestRepeat, of: Repeatable, before: string): Promise<void> {
    const { key, startedAtMs } = pending.request;
    const simulated = await this.#parts.simulate(key.customer, body, this.#parts.nowMs());
    if (simulated.kind === 'refused') {
      const waiting = this.#parts.requests.restore(of, before);
      for (const other of [pending, ...waiting]) this.#replies.refuse(other, simulated.problem);
      return;
    }
    // The request that was counted has the first id; outcomes and labels name that.
    const id = before.slice(ID_AT, ID_AT + ID_CHARACTERS);
    const text = simulated.text.slice(0, ID_AT) + id + simulated.text.slice(ID_AT + ID_CHARACTERS);
    this.#finish(of, `${text}${Math.round(performance.now() - startedAtMs)}}`, [pending]);
  }
}

const WAITING = problem('overloaded', 'Too many requests wait for the decision about this Idempotency-Key.', {
  retryAfterSeconds: 1,
  reason: 'customer_share',
});
