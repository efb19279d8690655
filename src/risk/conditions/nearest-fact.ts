import { closest } from '../../kernel/closest-name.ts';

/** Words of other systems, and those of our names for the same. */
const OWN_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['age', ['known', 'for']],
  ['seconds', []],
  ['minutes', []],
  ['hours', []],
  ['days', []],
]);

/** Returns the fact that was most likely meant by a name that no fact has; null if none is similar. */
export function nearestFact(written: string, known: readonly string[]): string | null {
  // A beginning, such as "account": nothing says which of its facts is meant.
  if (known.some((one) => one.startsWith(`${written}.`))) return null;
  // Others call the account a user.
  const name = written
    .toLowerCase()
    .replaceAll(/(^|[._])is_/g, '$1')
    .replace(/^user\./, 'account.');
  const joined = name.replaceAll('.', '_');
  const words = lastPart(name).split('_');
  const beside = known.filter((one) => one.startsWith(name.slice(0, name.lastIndexOf('.') + 1)) && name.includes('.'));
  const inOwnWords = words.flatMap((word) => OWN_WORDS.get(word) ?? [word]);
  return (
    known.find((one) => one.replaceAll('.', '_') === joined || lastPart(one) === joined) ??
    withWords(words, beside) ??
    withWords(inOwnWords, beside) ??
    closest(name, known) ??
    (beside.length === 0 ? known.find((one) => lastPart(one) === lastPart(name)) : undefined) ??
    known.find((one) => lastPart(one) === closest(joined, known.map(lastPart))) ??
    null
  );
}

/** `new` of `entity.email.new`. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

const ENTITY_FACT = /^entity\.(.+)\.(\w+)$/s;
const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** Returns how a fact of an entity is written: `entity["card-id"].new` where the entity's name needs it. */
export function entityFactText(name: string): string {
  const [, entity = '', part = ''] = ENTITY_FACT.exec(name) ?? [];
  return IDENTIFIER.test(entity) ? name : `entity[${JSON.stringify(entity)}].${part}`;
}

/** Returns the shortest name of which the last part has all the words. */
function withWords(words: readonly string[], names: readonly string[]): string | undefined {
  if (words.length === 0) return undefined;
  return names
    .filter((name) => {
      const own = lastPart(name).split('_');
      return words.every((word) => own.includes(word));
    })
    .toSorted((a, b) => a.length - b.length)[0];
}
