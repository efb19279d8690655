import { DECISIONS, type Decision } from '../../src/risk/decision.ts';
import type { SessionLabel, TrafficEvent } from '../../scripts/traffic/events.ts';
import type { Decided } from './engine.ts';

/** Result of one session. */
export interface SessionResult {
  readonly label: SessionLabel;
  /** Whether it began within the first hours of its customer. */
  readonly isFirstHours: boolean;
  /** Highest score of its events, 0 to 100. */
  score: number;
  /** Whether any event got a soft challenge, review or block. */
  isChallenged: boolean;
  /** Whether any event got a soft challenge or block. A review lets a login through. */
  isHeldBack: boolean;
  /** Number of its events. */
  events: number;
  /** Number of its events that were not held back. */
  through: number;
  /** Rules that fired at its first challenged event; empty when none was challenged. */
  reasons: readonly string[];
  /** Rules that fired with a positive weight at any of its events. */
  readonly fired: Set<string>;
}

/** Result of one attack campaign. */
export interface CampaignResult {
  readonly kind: string;
  /** Number of events, over all its sessions, before the first one that was held back; all events when none was. */
  throughFirst: number;
  isStopped: boolean;
}

/** Accumulates decisions: one small record per session and per campaign. */
export class Tally {
  readonly sessions = new Map<number, SessionResult>();
  readonly campaigns = new Map<number, CampaignResult>();
  events = 0;
  readonly decisions: Record<Decision, number> = {
    ALLOW: 0,
    ALLOW_WATCH: 0,
    SOFT_CHALLENGE: 0,
    REVIEW: 0,
    BLOCK: 0,
  };

  add({ session: label, isFirstHours }: TrafficEvent, { decision, score, contributions }: Decided): void {
    this.events++;
    this.decisions[decision]++;
    let result = this.sessions.get(label.id);
    if (result === undefined) {
      result = {
        label,
        isFirstHours,
        score: 0,
        isChallenged: false,
        isHeldBack: false,
        events: 0,
        through: 0,
        reasons: [],
        fired: new Set(),
      };
      this.sessions.set(label.id, result);
    }
    for (const { code, weight } of contributions) if (weight > 0) result.fired.add(code);
    const isHeldBack = decision === 'SOFT_CHALLENGE' || decision === 'BLOCK';
    result.events++;
    if (score > result.score) result.score = score;
    if (isHeldBack) result.isHeldBack = true;
    else result.through++;
    if (!result.isChallenged && DECISIONS.indexOf(decision) >= DECISIONS.indexOf('SOFT_CHALLENGE')) {
      result.isChallenged = true;
      result.reasons = contributions.filter(({ weight }) => weight > 0).map(({ code }) => code);
    }
    if (label.isAttack) this.#addToCampaign(label, isHeldBack);
  }

  #addToCampaign({ actor, kind }: SessionLabel, isHeldBack: boolean): void {
    let campaign = this.campaigns.get(actor);
    if (campaign === undefined) {
      campaign = { kind, throughFirst: 0, isStopped: false };
      this.campaigns.set(actor, campaign);
    }
    if (campaign.isStopped) return;
    if (isHeldBack) campaign.isStopped = true;
    else campaign.throughFirst++;
  }
}
