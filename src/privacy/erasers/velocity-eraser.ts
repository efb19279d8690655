import { ENTITY_PREFIX } from '../../risk/decision-links.ts';
import { readIp } from '../../risk/signals/ip.ts';
import { countSubject, forgetSubject, type VelocitySubject } from '../../velocity/forget-subject.ts';
import type { Eraser } from '../erasing.ts';
import type { FoundPerson } from '../find-person.ts';
import type { Person } from '../person.ts';

/** The person's history. Backups do not contain it, so there is nothing to repeat after a restore. */
export const eraseHistory: Eraser = async ({ velocity, person, customer, slices }) => {
  const subject = person === null ? null : subjectOf(person);
  if (velocity === null || subject === null) return { erased: 0 };
  await slices.begin();
  return { erased: forgetSubject(velocity, customer, subject) };
};

/** Returns the number of records of the person's history. */
export function countHistory({ velocity, person, customer }: FoundPerson): number {
  const subject = person === null ? null : subjectOf(person);
  return velocity === null || subject === null ? 0 : countSubject(velocity, customer, subject);
}

function subjectOf({ subject, value }: Person): VelocitySubject | null {
  if (subject === 'browser') return { kind: 'browser', hash: value };
  if (subject !== 'ip') return { kind: 'entity', name: subject.slice(ENTITY_PREFIX.length), value };
  const ip = readIp(value);
  return ip.kind === 'valid' ? { kind: 'address', networks: ip.networks } : null;
}
