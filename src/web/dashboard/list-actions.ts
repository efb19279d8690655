import type { ListAction } from '../../contract/vocabulary.ts';
import type { ListEntryRow } from '../../contract/wire-types.ts';
import { shortHash } from './format.ts';

/** The vocabulary's actions: pages import only types of the contract. */
export const ACTIONS: readonly ListAction[] = ['block', 'allow', 'watch'];

/** Subject of an entry. */
export type ListedSubject = Pick<ListEntryRow, 'kind' | 'value'>;

/** Fields that a write of an entry sets. */
export type ListChange = Pick<ListEntryRow, 'kind' | 'value' | 'action' | 'note' | 'expires_at' | 'event_types'>;

/** Kinds that a person can choose, with their titles and an example; identities have the kind `entity.<name>`. */
export const KINDS: readonly { readonly value: string; readonly title: string; readonly example: string }[] = [
  { value: 'fingerprint', title: 'Fingerprint', example: '64 hexadecimal digits' },
  { value: 'browser', title: 'Browser id', example: '64 hexadecimal digits' },
  { value: 'ip', title: 'IP address', example: '203.0.113.7' },
  { value: 'network', title: 'Network', example: '203.0.113.0/24' },
  { value: 'asn', title: 'Autonomous system', example: 'AS64500' },
  { value: 'country', title: 'Country', example: 'FR' },
  { value: 'email', title: 'E-mail address', example: 'anna@mail.example' },
  { value: 'email_domain', title: 'E-mail domain', example: 'mail.example' },
  { value: 'user_agent', title: 'User agent', example: 'AcmeBot/1.*' },
  { value: 'entity', title: 'Identity of a name', example: 'a user id, a card' },
];

/** Tells entries apart: kind and value. */
export function subjectId({ kind, value }: ListedSubject): string {
  return `${kind}:${value}`;
}

/** A value as it fits into a row. */
export function shortSubject({ kind, value }: ListedSubject): string {
  if (kind === 'fingerprint' || kind === 'browser') return shortHash(value);
  return value.startsWith('hash:') ? `#${value.slice(5, 13)}` : value;
}

/** `network 203.0.113.0/24`, `user_id #1a2b3c4d`. */
export function subjectWords(subject: ListedSubject): string {
  return `${kindTitle(subject.kind)} ${shortSubject(subject)}`.trim();
}

/** A kind in words, within a sentence. */
export function kindTitle(kind: string): string {
  const known = KINDS.find(({ value }) => value === kind)?.title;
  if (known === undefined) return kind.replace(/^entity\./, '');
  return /^(?:IP|E-mail)/.test(known) ? known : known.toLowerCase();
}
