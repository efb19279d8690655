import { childPointer } from '../../kernel/json-pointer.ts';
import { BAND_NAMES, bandsOf, eventTypesOf, assetsOf } from './policy-document.ts';
import type { PolicyDocument, PolicyNote, PolicyScope } from './policy-document.ts';
import { quoted } from './policy-names.ts';
import type { Bands } from './policy.ts';

/**
 * Returns the bands that do not rise, or leave 0 to 100, for some customer or event type; once for each part of the file that can be
 * changed.
 */
export function bandFaults(document: PolicyDocument): PolicyNote[] {
  const faults = new Map<string, PolicyNote>();
  const check = (id: string | null, scopes: readonly PolicyScope[], places: readonly string[]): void => {
    for (const type of ['', ...eventTypesOf(scopes)]) {
      const bands = bandsOf(assetsOf(scopes, type), type);
      if (isRising(bands)) continue;
      const pointer = placeOf(scopes, places, type);
      if (!faults.has(pointer)) faults.set(pointer, { pointer, message: notRising(bands, id, type) });
    }
  };
  const { challenger } = document;
  const checkWithChallenger = (id: string | null, scopes: readonly PolicyScope[], places: readonly string[]): void => {
    check(id, scopes, places);
    if (challenger !== null) check(id, [...scopes, challenger], [...places, '/challenger']);
  };
  checkWithChallenger(null, [document], ['']);
  for (const [id, scope] of document.customers) {
    if (saysBands(scope)) checkWithChallenger(id, [document, scope], ['', `/customers/${id}`]);
  }
  return [...faults.values()];
}

function saysBands({ bands, shifts, eventTypes }: PolicyScope): boolean {
  if (bands !== undefined || shifts !== undefined) return true;
  return [...(eventTypes?.values() ?? [])].some((part) => part.bands !== undefined);
}

function isRising({ allowWatch, softChallenge, review, block }: Bands): boolean {
  const last = review ?? softChallenge;
  const isOver = review === null || softChallenge < review;
  return allowWatch >= 0 && allowWatch < softChallenge && isOver && last < block && block <= 100;
}

/** Returns the pointer of the most specific part that sets these bands. */
function placeOf(scopes: readonly PolicyScope[], places: readonly string[], eventType: string): string {
  for (let at = scopes.length - 1; at >= 0; at--) {
    const place = places[at] ?? '';
    const scope = scopes[at];
    const typePlace = childPointer(`${place}/event_types`, eventType);
    if (scope?.eventTypes?.get(eventType)?.bands !== undefined) return `${typePlace}/bands`;
    if (scope?.shifts?.has(eventType) === true) return childPointer(`${place}/shifts`, eventType);
    if (scope?.bands !== undefined) return `${place}/bands`;
  }
  return '';
}

function notRising(bands: Bands, id: string | null, eventType: string): string {
  const whom = [
    ...(eventType === '' ? [] : [`the event type ${quoted(eventType)}`]),
    ...(id === null ? [] : [`the customer ${id}`]),
  ].join(' of ');
  const [watch, challenge, review, block] = BAND_NAMES.map((name) => bands[name] ?? 'none');
  const would = `allow_watch ${watch}, soft_challenge ${challenge}, review ${review}, block ${block}`;
  return `bands must rise from 0 to 100, shifts included; ${whom === '' ? '' : `for ${whom} `}they would be ${would}`;
}
