import type { Customer } from './customers.ts';

/** Result of a login, sign-up, reset or payment, with the values of the request field `outcome`. */
export type TrueOutcome = 'succeeded' | 'failed' | 'declined';

/** Ground truth of a session. The service never sees it. */
export interface SessionLabel {
  /** Counts up over the whole week. */
  readonly id: number;
  readonly customer: Customer;
  readonly isAttack: boolean;
  /** Of people: why they are as they are. Of attackers: what they do. */
  readonly kind: string;
  /** Of people: the person. Of attackers: the operator's campaign. Counts up over the whole week. */
  readonly actor: number;
  /** Honest, with nothing special about network, device or habits. */
  readonly isOrdinary: boolean;
  /** From an office or a school on the first day that it uses the customer; null from anywhere else. */
  readonly officeFirstDay: boolean | null;
}

/** The fields of a decide request that the traffic uses. */
export interface DecideBody {
  readonly ip: string;
  readonly user_agent: string;
  readonly url?: string;
  readonly referrer?: string;
  readonly session_token: string;
  readonly entity_keys?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly event_type: string;
  readonly timestamp: number;
}

export interface TrafficEvent {
  /** Unix ms. */
  readonly atMs: number;
  readonly session: SessionLabel;
  readonly body: DecideBody;
  /** null for events that cannot fail: page views, searches. */
  readonly outcome: TrueOutcome | null;
  /** Within the first hours of the customer. */
  readonly isFirstHours: boolean;
}

/** A planned session. Its events are generated when it begins, so that only sessions under way are in memory. */
export interface PlannedSession {
  readonly startMs: number;
  readonly label: SessionLabel;
  /** Returns the events in order of time. Deterministic: each call returns the same events. */
  play(): readonly TrafficEvent[];
}
