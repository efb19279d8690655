import type { SentNotice } from '../notice.ts';
import { cleanText, eventTitle, type FormattedEvent, SEVERITIES } from './event-text.ts';

const OCSF_VERSION = '1.3.0';
/** Detection Finding, of the category Findings. */
const CLASS_UID = 2004;
const CATEGORY_UID = 2;
/** Create. */
const ACTIVITY_ID = 1;
/** New. */
const STATUS_ID = 1;
/** IP address. */
const OBSERVABLE_IP = 2;

/** Returns a Detection Finding of the Open Cybersecurity Schema Framework. Source: OCSF 1.3.0, class `detection_finding`. */
export function ocsfFinding(decided: FormattedEvent): string {
  const { event, detail } = decided;
  const { decision, score, reasons, requestId, occurredAtMs, isTest = false } = event;
  const ip = detail?.ip ?? null;
  const country = detail?.country ?? null;
  const title = eventTitle(decided);
  return JSON.stringify({
    activity_id: ACTIVITY_ID,
    category_uid: CATEGORY_UID,
    class_uid: CLASS_UID,
    type_uid: CLASS_UID * 100 + ACTIVITY_ID,
    time: occurredAtMs,
    severity_id: SEVERITIES[decision].ocsf,
    status_id: STATUS_ID,
    message: title,
    risk_score: Math.round(score),
    metadata: { version: OCSF_VERSION, product: { name: 'Gatehouse', vendor_name: 'Gatehouse' } },
    finding_info: { uid: requestId, title, created_time: occurredAtMs, types: reasons },
    ...(ip !== null && {
      evidences: [{ src_endpoint: { ip, ...(country !== null && { location: { country } }) } }],
      observables: [{ name: 'evidences[].src_endpoint.ip', type_id: OBSERVABLE_IP, value: ip }],
    }),
    unmapped: {
      decision,
      score,
      ...(isTest && { livemode: false }),
      ...(detail !== null && {
        event_type: cleanText(detail.eventType),
        fingerprint_hash: detail.fingerprintHash,
        path: detail.path === null ? null : cleanText(detail.path),
      }),
    },
  });
}

/** Activity `Other` of the class Base Event, which has no category. */
const OTHER_ACTIVITY_ID = 99;

/** Returns a Base Event, for what is no finding. Source: OCSF 1.3.0, class `base_event`. */
export function ocsfBaseEvent(
  { event, eventId, fields, occurredAtMs, isTest, requestId }: SentNotice,
  title: string,
  severityId: number,
): string {
  return JSON.stringify({
    activity_id: OTHER_ACTIVITY_ID,
    activity_name: event,
    category_uid: 0,
    class_uid: 0,
    type_uid: OTHER_ACTIVITY_ID,
    time: occurredAtMs,
    severity_id: severityId,
    message: title,
    metadata: { version: OCSF_VERSION, uid: eventId, product: { name: 'Gatehouse', vendor_name: 'Gatehouse' } },
    unmapped: { ...fields, ...(requestId !== null && { request_id: requestId }), ...(isTest && { livemode: false }) },
  });
}
