import type { Customer } from './customers.ts';

/** What became of a login, a sign-up, a reset or a payment; as the field `outcome` and `POST /v1/outcomes` name it. */
export type TrueOutcome = 'succeeded' | 'failed' | 'declined';

/** What is true of a session, whatever the service makes of it. */
export interface SessionLabel {
  /** Counts up over the whole week. */
  readonly id: number;
  readonly customer: Customer;
  readonly isAttack: boolean;
  /** Of people: why they are as they are. Of attackers: what they do. */
  readonly kind: string;
  /** Of people: the person. Of attackers: the operator's campaign. Counts up over the whole week. */
  readonly actor: number;
  /** Of people: nothing is special about the way they come. */
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
  /** null where the event is no attempt at anything: a page, a search. */
  readonly outcome: TrueOutcome | null;
  /** Within the first hours of the customer. */
  readonly isFirstHours: boolean;
}

/** A session that will take place. Its events are made when it begins, so that few are in memory at once. */
export interface PlannedSession {
  readonly startMs: number;
  readonly label: SessionLabel;
  /** Events in the order of their time; the same each time it is called. */
  play(): readonly TrafficEvent[];
}
