/** Something of a condition that is allowed and probably not meant. */
export interface ConditionWarning {
  readonly code: 'amount_without_currency';
  readonly message: string;
}

const AMOUNT = 'attributes.amount';
const CURRENCY = 'attributes.currency';
/** Only asks whether there is an amount. */
const HAS_AMOUNT = /\bhas\(\s*attributes\s*\.\s*amount\s*\)/g;

/** Returns the warnings about a condition that can be used. `facts`: the names of its facts. */
export function conditionWarnings(when: string, facts: readonly string[]): readonly ConditionWarning[] {
  if (!facts.includes(AMOUNT) || facts.includes(CURRENCY)) return [];
  if (!when.replace(HAS_AMOUNT, '').includes('amount')) return [];
  const message = 'It compares attributes.amount, and amounts of all currencies: name attributes.currency too.';
  return [{ code: 'amount_without_currency', message }];
}
