import { eraseRequests } from '../../history/request-log/read-requests.ts';
import { parseDecideRequest } from '../../risk/decide-request.ts';
import { ENTITY_PREFIX, normalAddress, normalIdentity } from '../../risk/decision-links.ts';
import { readToken } from '../../risk/signals/collector-token.ts';
import type { Eraser } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';

/** Logged requests of the person, with their outcomes. */
export const eraseLoggedPerson: Eraser = async (erasing) => {
  const { dataDir, customer, keyFor, slices } = erasing;
  const { requests } = await eraseRequests(
    { dataDir, customer, keyFor },
    (body, atMs) => isRequestAbout(erasing, body, atMs),
    () => slices.begin(),
  );
  return { erased: requests };
};

/** Returns whether a logged request is about the person. */
export function isRequestAbout(
  { customer, marker, subject, marks, untilMs, isMarked }: FoundPerson,
  body: Buffer,
  atMs: number,
): boolean {
  if (atMs > untilMs) return false;
  const parsed = parseDecideRequest(body);
  if (parsed.kind === 'fault') return false;
  const { entities, ip, sessionToken } = parsed.request;
  if (subject === 'browser') {
    const { facts } = readToken(sessionToken ?? '');
    return facts.kind === 'collector' && facts.browserHash !== null && isMarked('browser', facts.browserHash);
  }
  if (subject === 'ip') {
    const address = normalAddress(ip ?? '');
    return address !== null && marks.has(marker.linkMarkOf(customer, subject, address));
  }
  return entities.some(
    ({ name, value }) =>
      `${ENTITY_PREFIX}${name}` === subject && marks.has(marker.linkMarkOf(customer, subject, normalIdentity(value))),
  );
}
