import { cleanText, type FormattedEvent, SEVERITIES } from './event-text.ts';

/** Version of what we write into CEF, as its device version. */
const CEF_DEVICE_VERSION = '1';

/**
 * Returns one line in the Common Event Format, without a syslog header. In the header `\` and `|` are escaped, in the extension `\` and
 * `=`. Source: ArcSight Common Event Format, version 0.
 */
export function cefEvent({ event, detail }: FormattedEvent): string {
  const { decision, score, reasons, requestId, occurredAtMs, isTest = false } = event;
  const name = `${isTest ? 'Test decision' : 'Decision'} ${decision}`;
  const ip = detail?.ip ?? null;
  return cefLine(decision, name, SEVERITIES[decision].cef, [
    ['rt', String(occurredAtMs)],
    ['act', decision],
    ['externalId', requestId],
    ['cat', detail?.eventType],
    ...(ip === null ? [] : addressFields(ip)),
    ['request', detail?.path],
    ...labelled('cfp1', 'Score', String(score)),
    ...labelled('cs1', 'Reasons', reasons.length === 0 ? null : reasons.join(' ')),
    ...labelled('cs2', 'Country', detail?.country),
    ...labelled('cs3', 'Fingerprint', detail?.fingerprintHash),
  ]);
}

/** Returns the line of an event. `severity`: 0 to 10. Keys without a value are left out; values are cleaned and escaped here. */
export function cefLine(
  signature: string,
  name: string,
  severity: number,
  extension: readonly (readonly [key: string, value: string | null | undefined])[],
): string {
  const header = ['Gatehouse', 'Gatehouse', CEF_DEVICE_VERSION, signature, name, String(severity)];
  const pairs = extension.flatMap(([key, value]) =>
    value === null || value === undefined || value === '' ? [] : [`${key}=${escapeExtension(cleanText(value))}`],
  );
  return `CEF:0|${header.map(escapeHeader).join('|')}|${pairs.join(' ')}`;
}

/** `src` takes IPv4 only. */
function addressFields(ip: string): readonly (readonly [string, string])[] {
  return !ip.includes(':')
    ? [['src', ip]]
    : [
        ['c6a2', ip],
        ['c6a2Label', 'Source IPv6 Address'],
      ];
}

function labelled(
  key: string,
  label: string,
  value: string | null | undefined,
): readonly (readonly [string, string])[] {
  if (value === null || value === undefined || value === '') return [];
  return [
    [key, value],
    [`${key}Label`, label],
  ];
}

function escapeHeader(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('|', '\\|');
}

function escapeExtension(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('=', '\\=');
}
