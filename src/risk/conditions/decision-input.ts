import type { AttributeValue, Entity, Facts } from '../facts.ts';
import type { NamedListKind } from '../lists/named-list.ts';
import type { ContextHistory, EntityHistory } from '../history.ts';

/** What the conditions of a decision read. */
export interface DecisionInput {
  readonly facts: Facts;
  readonly publicKey: boolean;
  /** The declared attributes that have their declared type. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** The score of the built-in rules and the model, 0 to 100. */
  readonly score: number;
  /** Codes of the built-in rules that fired. */
  readonly reasons: readonly string[];
  /** Null without a model's result. */
  readonly probability: number | null;
  /**
   * Returns whether a named list of the customer has the value; undefined if there is no such list, if it is of none of the kinds, and
   * while it cannot be read.
   */
  inList(name: string, value: string, kinds: readonly NamedListKind[]): boolean | undefined;
}

/**
 * Returns the history of the account: of the entity whose contexts are compared, else of the first that is an e-mail address, else of the
 * first. Null without entities.
 */
export function accountOf({ history, emails, entities }: Facts): EntityHistory | null {
  const histories = history?.entities ?? [];
  const name = history?.context?.name ?? entityOfEmail(entities, emails[0]?.text) ?? histories[0]?.name;
  return histories.find((one) => one.name === name) ?? null;
}

function entityOfEmail(entities: readonly Entity[], text: string | undefined): string | undefined {
  return text === undefined ? undefined : entities.find(({ value }) => value === text)?.name;
}

/** Returns `known` or `new`; undefined while nothing is known. */
export function familiarity(
  { history }: Facts,
  part: 'device' | 'exactAgent' | 'network' | 'place' | 'country',
): string | undefined {
  const context: ContextHistory | null = history?.context ?? null;
  const value = context?.[part];
  return value === undefined || value === 'unknown' ? undefined : value;
}

export interface PageParts {
  /** Lower case, without a port. */
  readonly host: string;
  readonly path: string;
}

const PAGE = /^https?:\/\/(?:[^/?#@\s]*@)?(?<host>[^/?#\s:]+)(?::\d+)?(?<path>[^?#\s]*)/i;
let lastText: string | null = null;
let lastParts: PageParts | undefined;

/**
 * Returns host and path of the address of a page; undefined for other text. Keeps the last result, because several conditions ask one after
 * the other.
 */
export function pageParts(text: string | null): PageParts | undefined {
  if (text !== lastText) {
    const { host = '', path = '' } = (text === null ? null : PAGE.exec(text))?.groups ?? {};
    lastParts = host === '' ? undefined : { host: host.toLowerCase(), path: path === '' ? '/' : path };
    lastText = text;
  }
  return lastParts;
}
