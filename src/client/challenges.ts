import type { DecideResult, Gatehouse } from './gatehouse.ts';

/** Logins that wait for a code, and their outcomes. Source: docs/challenge.md. */

export interface ChallengesOptions {
  /** Codes that a visitor may try; default 3. */
  readonly attempts?: number;
  /** How long a code is valid; default 600,000. */
  readonly lifetimeMs?: number;
  /** Open challenges; the oldest makes room for a new one. Default 10,000. */
  readonly openMax?: number;
  /** The clock in milliseconds, for tests; default: `performance.now`. */
  readonly nowMs?: () => number;
}

export interface BegunChallenge {
  /** 32 random hex digits that name the challenge; they may stand in the page's form. */
  readonly ticket: string;
  /** Six digits to send to the account's owner; null after a wrong password: ask for a code in both cases. */
  readonly code: string | null;
}

export type ChallengeAnswer<Account> =
  | { readonly kind: 'passed'; readonly account: Account }
  /** The visitor may try again. */
  | { readonly kind: 'wrong'; readonly attemptsLeft: number }
  /** Unknown, too late, or too many attempts: the visitor must log in again. */
  | { readonly kind: 'over' };

type Decided = Pick<DecideResult, 'request_id'> | null;

interface OpenChallenge<Account> {
  readonly decision: Decided;
  readonly account: Account;
  readonly code: string | null;
  readonly untilMs: number;
  attemptsLeft: number;
}

/**
 * Challenges with a code. Reports exactly one outcome for each decision: `failed` after a wrong password, `challenge_passed`, or
 * `challenge_failed` after the last attempt; none if the visitor left. In the memory of one process: several need a store of their own.
 */
export class Challenges<Account = string> {
  readonly #client: Pick<Gatehouse, 'outcome'>;
  readonly #options: ChallengesOptions;
  readonly #open = new Map<string, OpenChallenge<Account>>();

  constructor(client: Pick<Gatehouse, 'outcome'>, options: ChallengesOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Call it after SOFT_CHALLENGE and the check of the password.
   * @param account is returned when the challenge is passed.
   */
  begin(decision: Decided, account: Account, isRight: boolean): BegunChallenge {
    const nowMs = this.#nowMs();
    // In the order of their beginnings, and so of their ends.
    for (const [ticket, { untilMs }] of this.#open) {
      if (untilMs > nowMs && this.#open.size < (this.#options.openMax ?? 10_000)) break;
      this.#open.delete(ticket);
    }
    const ticket = crypto.randomUUID().replaceAll('-', '');
    const code = isRight ? randomCode() : null;
    const untilMs = nowMs + (this.#options.lifetimeMs ?? 600_000);
    this.#open.set(ticket, { decision, account, code, untilMs, attemptsLeft: this.#options.attempts ?? 3 });
    if (!isRight) void this.#client.outcome(decision, 'failed');
    return { ticket, code };
  }

  /** Takes what a visitor sent; anything else than texts is wrong. */
  answer(ticket: unknown, code: unknown): ChallengeAnswer<Account> {
    const challenge = typeof ticket === 'string' ? this.#open.get(ticket) : undefined;
    if (challenge === undefined || challenge.untilMs <= this.#nowMs()) return { kind: 'over' };
    challenge.attemptsLeft--;
    const isPassed = challenge.code !== null && isEqual(challenge.code, String(code).trim());
    if (!isPassed && challenge.attemptsLeft > 0) return { kind: 'wrong', attemptsLeft: challenge.attemptsLeft };
    this.#open.delete(ticket as string);
    if (challenge.code !== null)
      void this.#client.outcome(challenge.decision, isPassed ? 'challenge_passed' : 'challenge_failed');
    return isPassed ? { kind: 'passed', account: challenge.account } : { kind: 'over' };
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? (() => performance.now()))();
  }
}

/** The share of each code differs by at most 1 in 4,000. */
function randomCode(): string {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(number % 1_000_000).padStart(6, '0');
}

/** In the same time for all texts of a length. */
function isEqual(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
