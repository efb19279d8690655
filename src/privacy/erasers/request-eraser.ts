import { eraseRequests } from '../../history/request-log/read-requests.ts';
import { parseDecideRequest } from '../../risk/decide-request.ts';
import { ENTITY_PREFIX, normalAddress, normalIdentity } from '../../risk/decision-links.ts';
import { readToken } from '../../risk/signals/collector-token.ts';
import { type Eraser, type Erasing } from '../erasing.ts';

/** Logged requests of the person, with their outcomes. */
export const eraseLoggedPerson: Eraser = async (erasing) => {
  const { dataDir, customer, keyFor, erasure, slices } = erasing;
  const { requests } = await eraseRequests(
    { dataDir, customer, keyFor },
    (body, atMs) => atMs <= erasure.requestedAtMs && isAbout(erasing, body),
    () => slices.begin(),
  );
  return { erased: requests };
};

function isAbout({ customer, marker, erasure: { subject, marks }, isMarked }: Erasing, body: Buffer): boolean {
  const parsed = parseDecideRequest(body);
  if (parsed.kind === 'fault') return false;
  const { entities, ip, sessionToken } = parsed.request;
  if (subject === 'browser') {
    const { facts } = readToken(sessionToken ?? '');
    return facts.kind === 'collector' && facts.browserHash !== null && isMarked('browser', facts.browserHash);
  }
  if (subject === 'ip') {
    const address = normalAddress(ip ?? '');
    return address !== null && marks.includes(marker.linkMarkOf(customer, subject, address));
  }
  return entities.some(
    ({ name, value }) =>
      `${ENTITY_PREFIX}${name}` === subject &&
      marks.includes(marker.linkMarkOf(customer, subject, normalIdentity(value))),
  );
}
