import type { LearningRow } from '../../src/learn/learning-rows.ts';
import type { DecisionRecord } from '../../src/risk/decision-record.ts';
import { Random } from '../../scripts/traffic/random.ts';
import type { TrafficEvent } from '../../scripts/traffic/events.ts';
import { familyOf } from './families.ts';

/** Choice: banks report six in ten stolen payments in time. */
const CHARGEBACK_SHARE = 0.6;
/** Choice: three in ten owners of a taken account report it. */
const TAKEOVER_SHARE = 0.3;
/** Choice: what one person reviews for a customer in a day, and how often the verdict is wrong. */
const REVIEWS_A_DAY = 40;
const REVIEW_ERRORS = 0.03;
/** Choice: attackers that solve a challenge, and people that give up. */
const ATTACKERS_PASS = 0.1;
const PEOPLE_FAIL = 0.03;
const DAY_MS = 86_400_000;

export type KnownTruths = Pick<LearningRow, 'label' | 'isReviewed' | 'hasPassed'>;

const UNKNOWN: KnownTruths = { label: null, isReviewed: false, hasPassed: null };
const REPORTED: KnownTruths = { label: 'fraud', isReviewed: false, hasPassed: null };

/**
 * What a customer learns of its decisions: chargebacks of payments, taken accounts that their owners report, verdicts on decisions that
 * wait for review, and the ends of challenges. Never the truth of a session that nobody noticed.
 */
export class CustomerLabels {
  readonly #random: Random;
  readonly #reviewed = new Map<string, number>();

  constructor(seed: number) {
    this.#random = new Random(`labels ${seed}`);
  }

  of({ session, outcome, body, atMs }: TrafficEvent, { decision, shadow }: DecisionRecord): KnownTruths {
    const { isAttack, kind, customer } = session;
    const isThrough = decision !== 'BLOCK' && outcome === 'succeeded' && isAttack;
    const family = familyOf(kind);
    if (isThrough && body.event_type === 'payment' && this.#random.chance(CHARGEBACK_SHARE)) return REPORTED;
    const isTaken = family === 'takeover' || family === 'stuffing' || family === 'guessing';
    if (isThrough && isTaken && body.event_type === 'login' && this.#random.chance(TAKEOVER_SHARE)) return REPORTED;
    if (decision === 'REVIEW' || shadow === 'near_block') {
      const day = `${customer.number} ${Math.floor(atMs / DAY_MS)}`;
      const reviewed = this.#reviewed.get(day) ?? 0;
      if (reviewed < REVIEWS_A_DAY) {
        this.#reviewed.set(day, reviewed + 1);
        const isFraud = this.#random.chance(REVIEW_ERRORS) ? !isAttack : isAttack;
        return { label: isFraud ? 'fraud' : 'legitimate', isReviewed: true, hasPassed: null };
      }
    }
    if (decision !== 'SOFT_CHALLENGE') return UNKNOWN;
    return { ...UNKNOWN, hasPassed: this.#random.chance(isAttack ? ATTACKERS_PASS : 1 - PEOPLE_FAIL) };
  }
}
