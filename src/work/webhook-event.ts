import type { Decision } from '../risk/decision.ts';
import { decodeRecord, type DecisionRecord } from '../risk/decision-record.ts';

/** A decision as input of an event. */
export interface EventInput {
  readonly requestId: string;
  readonly decision: Decision;
  /** 0 to 100, one decimal. */
  readonly score: number;
  readonly reasons: readonly string[];
  /** The decision's time, Unix ms. */
  readonly occurredAtMs: number;
  /** Decided for a test key; default false. */
  readonly isTest?: boolean;
}

/** What is known of a decision beyond the fields of its event. */
export type EventDetail = Pick<
  DecisionRecord,
  | 'eventType'
  | 'fingerprintHash'
  | 'ip'
  | 'country'
  | 'asn'
  | 'path'
  | 'publicKey'
  | 'wouldBe'
  | 'outcome'
  | 'contributions'
>;

/** A decision that is being delivered. Its record is decoded at the first use, because most webhooks need only the event. */
export class DecidedEvent {
  readonly event: EventInput;
  readonly #record: Uint8Array | null;
  #detail: EventDetail | null | undefined;

  /**
   * `record`: bytes of the decision's record, which must not change while this is used, empty if it is not known; or what was decoded.
   */
  constructor(event: EventInput, record: Uint8Array | EventDetail) {
    this.event = event;
    this.#record = record instanceof Uint8Array ? record : null;
    if (!(record instanceof Uint8Array)) this.#detail = record;
  }

  /** Null without a record. */
  get detail(): EventDetail | null {
    this.#detail ??= this.#record === null || this.#record.length === 0 ? null : decodeRecord(this.#record);
    return this.#detail;
  }
}

/**
 * Returns the body of a decision's event: exactly six fields, `timestamp` in Unix seconds, and `livemode: false` for a test key. Serialise
 * it once: the same bytes are signed and sent on every attempt. Source: contract, 10.3 and 3.11.
 */
export function eventBody({ requestId, decision, score, reasons, occurredAtMs, isTest = false }: EventInput): string {
  const timestamp = Math.floor(occurredAtMs / 1000);
  const event = { event: decision, request_id: requestId, decision, score, reasons, timestamp };
  return JSON.stringify(isTest ? { ...event, livemode: false } : event);
}

/**
 * Returns the body for `"fields": "full"`: the six fields, then what else is known of the decision. Without its record only the six.
 * Source: contract, 10.11.
 */
export function fullEventBody({ event, detail }: Pick<DecidedEvent, 'event' | 'detail'>): string {
  const six = eventBody(event);
  if (detail === null) return six;
  const rest = JSON.stringify({
    event_type: detail.eventType,
    fingerprint_hash: detail.fingerprintHash,
    ip: detail.ip,
    country: detail.country,
    asn: detail.asn,
    path: detail.path,
    public_key: detail.publicKey,
    would_be: detail.wouldBe,
    outcome: detail.outcome,
    contributions: detail.contributions.map(({ code, weight, evidence }) => ({ reason: code, weight, evidence })),
  });
  return `${six.slice(0, -1)},${rest.slice(1)}`;
}

/** Consistent scores and reasons of a payment under the default policy. */
const EXAMPLES: Readonly<Record<Decision, Pick<EventInput, 'score' | 'reasons'>>> = {
  ALLOW: { score: 0, reasons: [] },
  ALLOW_WATCH: { score: 35, reasons: ['velocity_session_1m'] },
  SOFT_CHALLENGE: { score: 55, reasons: ['velocity_ip_payments_1h'] },
  REVIEW: { score: 70, reasons: ['device_headless'] },
  BLOCK: { score: 100, reasons: ['list_block'] },
};

/** Returns what a test sends: an invented decision. Source: RFC 5737 for its address, RFC 5398 for its network. */
export function exampleDecided(
  nowSeconds: number,
  requestId: string,
  decision: Decision,
  isTest = false,
): Pick<DecidedEvent, 'event' | 'detail'> {
  const event = { requestId, decision, occurredAtMs: nowSeconds * 1000, isTest, ...EXAMPLES[decision] };
  const contributions = event.reasons.map((code) => ({ code, weight: 0.5, evidence: 'an example' }));
  return {
    event,
    detail: {
      eventType: 'payment',
      fingerprintHash: null,
      ip: '203.0.113.7',
      country: 'DE',
      asn: 64_500,
      path: '/checkout',
      publicKey: false,
      wouldBe: null,
      outcome: null,
      contributions,
    },
  };
}

/** Returns the body of a test in the default format. */
export function exampleEvent(nowSeconds: number, requestId: string, decision: Decision): string {
  return eventBody(exampleDecided(nowSeconds, requestId, decision).event);
}
