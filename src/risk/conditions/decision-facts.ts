import { NAMED_LIST_NAME, type NamedListKind, namedListKindsFor } from '../lists/named-list.ts';
import type { ConditionNames, ConditionType } from './condition.ts';
import { decisionFact as fact, type DecisionFact } from './decision-fact.ts';
import type { DecisionInput } from './decision-input.ts';
import { entityFactNames, factOfEntity, HISTORY_FACTS } from './history-facts.ts';
import { REQUEST_FACTS } from './request-facts.ts';

/**
 * The facts that conditions over decisions read: what can be written, what it means and when it is absent. The documents, the checker and
 * the completion of the dashboard come from this table.
 */

/** Choice: more than any decision has. */
const REASONS_MAX = 100;

const NO_EMAIL = 'no entity is an e-mail address';
const NO_CARD = 'no entity is a means of payment';

const IDENTITY: readonly DecisionFact[] = [
  fact('email.address', 'text', 'the first e-mail address, by its mailbox', ({ facts }) => facts.emails[0]?.canonical, {
    absentWhen: NO_EMAIL,
    isIdentity: true,
  }),
  fact('email.domain', 'text', 'its domain, in ASCII', ({ facts }) => facts.emails[0]?.domain, {
    absentWhen: NO_EMAIL,
  }),
  fact('email.registrable', 'text', 'its domain without subdomains', ({ facts }) => facts.emails[0]?.registrable, {
    absentWhen: NO_EMAIL,
  }),
  fact(
    'email.disposable',
    'boolean',
    'a service for disposable mailboxes',
    ({ facts }) => facts.emails[0]?.disposable,
    {
      absentWhen: NO_EMAIL,
    },
  ),
  fact(
    'email.free',
    'boolean',
    'a provider where anybody opens mailboxes for nothing',
    ({ facts }) => facts.emails[0]?.free,
    {
      absentWhen: NO_EMAIL,
    },
  ),
  fact('email.generated', 'boolean', 'the name looks generated', ({ facts }) => facts.emails[0]?.generated, {
    absentWhen: NO_EMAIL,
  }),
  fact(
    'card.of_actor_24h',
    'number',
    'cards or bank accounts of one person, session or device',
    ({ facts }) => facts.history?.values?.ofActor24h,
    {
      unit: 'in 24 h',
      absentWhen: NO_CARD,
    },
  ),
  fact(
    'card.of_address_24h',
    'number',
    'cards or bank accounts at the address',
    ({ facts }) => facts.history?.values?.ofAddress24h,
    {
      unit: 'in 24 h',
      absentWhen: NO_CARD,
    },
  ),
];

const RESULT: readonly DecisionFact[] = [
  fact(
    'registry.risk',
    'number',
    'risk of the fingerprint in the shared registry',
    ({ facts }) => facts.registry?.risk,
    {
      unit: '0 to 100',
      absentWhen: 'the registry does not have it',
    },
  ),
  fact(
    'registry.customers',
    'number',
    'customers that have seen the fingerprint',
    ({ facts }) => facts.registry?.customers,
    {
      absentWhen: 'the registry does not have it',
    },
  ),
  fact('score', 'number', 'score of the built-in rules and the model', ({ score }) => score, { unit: '0 to 100' }),
  fact('reasons', 'list', 'codes of the built-in rules that fired', ({ reasons }) => reasons, {
    itemsMax: REASONS_MAX,
  }),
  fact('model.probability', 'number', 'probability of fraud by the model', ({ probability }) => probability, {
    unit: '0 to 1',
    absentWhen: 'there is no model, or it failed',
  }),
];

/** All facts with a name of their own. Those of entities and attributes have names of the customer's. */
export const DECISION_FACTS: readonly DecisionFact[] = [...REQUEST_FACTS, ...HISTORY_FACTS, ...IDENTITY, ...RESULT];

const BY_NAME: ReadonlyMap<string, DecisionFact> = new Map(DECISION_FACTS.map((one) => [one.name, one]));

/** Types of the attributes that a policy declares. */
export type AttributeTypes = ReadonlyMap<string, ConditionType>;

/** Source: contract, 4.7. */
const ATTRIBUTE_ITEMS_MAX = 16;

function attributeFact(name: string, type: ConditionType): DecisionFact {
  return fact(
    `attributes.${name}`,
    type,
    'an attribute that the customer sends',
    ({ attributes }) => attributes.get(name),
    {
      absentWhen: 'the request does not have it, or with another type',
      itemsMax: ATTRIBUTE_ITEMS_MAX,
    },
  );
}

/** A counter that the customer declares; `text` describes it. */
export function counterFact(name: string, text: string): DecisionFact {
  const id = counterId(name, text);
  return fact(`counters.${name}`, 'number', text, ({ facts }) => facts.history?.counters.get(id), {
    absentWhen: 'the request does not have whom it is about, or the history is unavailable',
  });
}

/** FNV-1a, 32 bits: of the few counters of one customer no two are equal by chance. */
export function counterId(name: string, text: string): number {
  const all = `${name} ${text}`;
  let hash = 0x811c9dc5;
  for (let i = 0; i < all.length; i++) hash = Math.imul(hash ^ all.charCodeAt(i), 0x01000193);
  return hash | 0;
}

/** What the policy of a customer declares. */
export interface DeclaredNames {
  readonly attributes: AttributeTypes;
  /** Name → description. */
  readonly counters: ReadonlyMap<string, string>;
}

/** The named lists of a customer with their kinds; null where they are not known and every name is taken for one. */
export type KnownLists = ReadonlyMap<string, NamedListKind> | null;

/** Returns the names that the conditions of a customer may use. */
export function decisionNames(
  { attributes, counters }: DeclaredNames,
  lists: KnownLists,
): ConditionNames<DecisionInput> {
  return {
    known: [
      ...BY_NAME.keys(),
      ...[...attributes.keys()].map((name) => `attributes.${name}`),
      ...[...counters.keys()].map((name) => `counters.${name}`),
      ...[...(lists?.keys() ?? [])].map((name) => `list.${name}`),
    ],
    beside: ([first, second = '']) => (first === 'entity' && second !== '' ? entityFactNames(second) : []),
    fact([first = '', second = '', third]) {
      if (first === 'entity' && third !== undefined) return factOfEntity(second, third);
      if (first === 'attributes' && third === undefined) {
        const type = attributes.get(second);
        return type === undefined ? null : attributeFact(second, type);
      }
      if (third !== undefined) return null;
      if (first === 'counters') {
        const text = counters.get(second);
        return text === undefined ? null : counterFact(second, text);
      }
      return BY_NAME.get(second === '' ? first : `${first}.${second}`) ?? null;
    },
    list(name, left) {
      const kind = lists?.get(name);
      if (lists === null ? !NAMED_LIST_NAME.test(name) : kind === undefined) return null;
      const kinds = namedListKindsFor(left);
      if (kind !== undefined && !kinds.includes(kind)) return misfit(name, kind, left.fact);
      return (input, value) => input.inList(name, value, kinds);
    },
  };
}

function misfit(name: string, kind: NamedListKind, fact: string | null): string {
  return `list.${name} has values of the kind ${kind}, which ${fact ?? 'this'} never is.`;
}
