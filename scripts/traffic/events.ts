import type { Customer } from './customers.ts';

/** Result of a login, sign-up, reset or payment, with the values of the request field `outcome`. */
export type TrueOutcome = 'succeeded' | 'failed' | 'declined';

/** Ground truth of a session. The service never sees it. */
export interface SessionLabel {
  /** Increases over the whole week. */
  readonly id: number;
  readonly customer: Customer;
  readonly isAttack: boolean;
  /** For people: the reason for their behaviour. For attackers: the attack. */
  readonly kind: string;
  /** For people: the person. For attackers: the operator's campaign. Increases over the whole week. */
  readonly actor: number;
  /** Honest, with nothing special about network, device or habits. */
  readonly isOrdinary: boolean;
  /** For sessions from an office or a school: whether it is the first day that it uses the customer. null for other sessions. */
  readonly officeFirstDay: boolean | null;
}

/** What a shop knows of an order besides the request itself. */
export type OrderAttributes = Readonly<Record<string, string | number>>;

/** The fields of a decide request that the traffic uses. */
export interface DecideBody {
  readonly ip: string;
  readonly user_agent: string;
  readonly url?: string;
  readonly referrer?: string;
  readonly session_token: string;
  readonly entity_keys?: Readonly<Record<string, string>>;
  readonly attributes?: OrderAttributes;
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
  /** Whether it is within the first hours of the customer. */
  readonly isFirstHours: boolean;
}

/** A planned session. Its events are generated when it begins, so that only active sessions are in memory. */
export interface PlannedSession {
  readonly startMs: number;
  readonly label: SessionLabel;
  /** Returns the events in time order. Deterministic: each call returns the same events. */
  play(): readonly TrafficEvent[];
}
