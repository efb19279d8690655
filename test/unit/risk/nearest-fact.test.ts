import { expect, test } from 'vitest';
import { compileCondition } from '../../../src/risk/conditions/compile-condition.ts';
import { decisionNames } from '../../../src/risk/conditions/decision-facts.ts';

const NAMES = decisionNames(
  { attributes: new Map([['amount', 'number']]), counters: new Map([['cards', 'cards of a device']]) },
  new Map([['partners', 'email_domain']]),
);

function faultOf(when: string): { readonly message: string; readonly didYouMean?: string } {
  const compiled = compileCondition(when, NAMES);
  if (compiled.kind === 'ok') throw new Error('the condition can be used');
  return compiled.faults[0] ?? { message: '' };
}

test.each([
  // Letters in a wrong order, left out, or of the other case.
  ['ip.contry', 'ip.country'],
  ['evnet.type', 'event.type'],
  ['ip.tro', 'ip.tor'],
  ['counters.crads', 'counters.cards'],
  ['Event.Type', 'event.type'],
  ['entity.email.devces_24h', 'entity.email.devices_24h'],
  ['entity["card-id"].devces_24h', 'entity["card-id"].devices_24h'],
  // A wrong member of a name that exists, and a fact at another place.
  ['device.nwe', 'device.new'],
  ['device.is_new', 'device.new'],
  ['account.age', 'account.known_for_hours'],
  ['account.age_days', 'account.known_for_hours'],
  ['account.known_hours', 'account.known_for_hours'],
  ['entity.email.age', 'entity.email.known_for_hours'],
  ['session.age', 'session.age_seconds'],
  ['user.new', 'account.new'],
  ['geo.country', 'ip.country'],
  ['country', 'ip.country'],
  ['amount', 'attributes.amount'],
])('%s means %s', (written, meant) => {
  const { message, didYouMean } = faultOf(`${written} == ${written}`);
  expect(didYouMean).toBe(meant);
  expect(message).toContain(`Did you mean ${meant}?`);
});

test.each([
  ['account', 'account has new, known_for_hours, '],
  ['email.colour', 'email has address, domain, '],
  ['entity.email', 'entity.email has value, new, '],
  ['entity.email.colour', 'entity.email has value, new, '],
])('%s means nothing in particular: what there is is listed', (written, listed) => {
  const { message, didYouMean } = faultOf(`${written} == 1`);
  expect(didYouMean).toBeUndefined();
  expect(message).toContain(listed);
});
