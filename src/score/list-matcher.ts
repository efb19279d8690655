import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { parseV4, parseV6 } from '../kernel/ip-text.ts';
import type { ListAction } from '../risk/decision.ts';
import type { EmailFacts, Entity, GeoFacts, IpFacts } from '../risk/facts.ts';
import { codeOfListKind, entityText, type ListKeys } from '../risk/lists/list-key.ts';
import { DOMAIN_LABELS_MAX } from '../risk/lists/list-kind.ts';
import { ENTITY_KIND } from '../contract/vocabulary.ts';

import type { ListFacts } from '../risk/lists/list-facts.ts';
import { decideByLists, type ListMatch } from '../risk/lists/list-precedence.ts';
import type { ListedKinds } from '../risk/lists/listed-kinds.ts';

/** The customer's own lists, as a worker reads them. An entry counts only for its event types. */
export interface ListSource {
  findList(customer: CustomerNumber, hash: FingerprintHash, nowSeconds: number, eventType: string): ListAction | null;
  /** The same by the key of a value (`ListKeys`). */
  findListKey(customer: CustomerNumber, key: Uint8Array, nowSeconds: number, eventType: string): ListAction | null;
  /** Null for a customer that lists fingerprints and browsers only. */
  listedKinds(customer: CustomerNumber): ListedKinds | null;
}

/** What is looked up of a request. */
export interface ListSubject {
  readonly customer: CustomerNumber;
  readonly nowSeconds: number;
  readonly eventType: string;
  readonly isPublicKey: boolean;
  readonly fingerprintHash: FingerprintHash;
  readonly browserHash: FingerprintHash | null;
  readonly ip: IpFacts | null;
  readonly geo: GeoFacts | null;
  readonly userAgent: string | null;
  readonly entities: readonly Entity[];
  readonly emails: readonly EmailFacts[];
}

const [IP, NETWORK, ASN, COUNTRY, EMAIL, EMAIL_DOMAIN, USER_AGENT, ENTITY] = [
  codeOfListKind('ip'),
  codeOfListKind('network'),
  codeOfListKind('asn'),
  codeOfListKind('country'),
  codeOfListKind('email'),
  codeOfListKind('email_domain'),
  codeOfListKind('user_agent'),
  codeOfListKind('entity.x'),
] as const;

/**
 * Finds the entries of the customer's lists that name something of a request. One for each worker.
 * Cost: two look-ups for the fingerprint and the browser; for a customer who lists other kinds one more for each of these and for each
 * length of networks.
 */
export class ListMatcher {
  readonly #source: ListSource;
  readonly #keys: ListKeys;

  constructor(source: ListSource, keys: ListKeys) {
    this.#source = source;
    this.#keys = keys;
  }

  /** Returns what the lists decide; null if no entry counts. */
  match(subject: ListSubject): ListFacts | null {
    const { customer, fingerprintHash, browserHash, nowSeconds, eventType } = subject;
    const source = this.#source;
    const ofFingerprint = source.findList(customer, fingerprintHash, nowSeconds, eventType);
    const ofBrowser = browserHash === null ? null : source.findList(customer, browserHash, nowSeconds, eventType);
    const kinds = source.listedKinds(customer);
    if (kinds === null && ofFingerprint === null && ofBrowser === null) return null;
    const matches: ListMatch[] = [];
    if (ofFingerprint !== null) matches.push({ kind: 'fingerprint', action: ofFingerprint, shown: fingerprintHash });
    if (ofBrowser !== null) matches.push({ kind: 'browser', action: ofBrowser, shown: browserHash ?? '' });
    if (kinds !== null) {
      this.#matchPersons(subject, kinds, matches);
      this.#matchAddress(subject, kinds, matches);
      this.#matchAgent(subject, kinds, matches);
    }
    return decideByLists(matches, subject);
  }

  #find({ customer, nowSeconds, eventType }: ListSubject, key: Uint8Array): ListAction | null {
    return this.#source.findListKey(customer, key, nowSeconds, eventType);
  }

  #matchPersons(subject: ListSubject, kinds: ListedKinds, matches: ListMatch[]): void {
    const { customer, entities, emails } = subject;
    const keys = this.#keys;
    for (const { canonical, domain } of emails) {
      if (kinds.has(EMAIL)) {
        const action = this.#find(subject, keys.ofText(customer, 'email', canonical));
        if (action !== null) matches.push({ kind: 'email', action, shown: '' });
      }
      if (kinds.has(EMAIL_DOMAIN)) this.#matchDomain(subject, domain, matches);
    }
    if (!kinds.has(ENTITY)) return;
    for (const { name, value } of entities) {
      const normal = emails.find(({ text }) => text === value)?.canonical ?? value.trim();
      const action = this.#find(subject, keys.ofText(customer, 'entity', entityText(name, normal)));
      if (action !== null) matches.push({ kind: `${ENTITY_KIND}${name}`, action, shown: '' });
    }
  }

  /** The domain, then the domains that it is below: the most specific entry counts. */
  #matchDomain(subject: ListSubject, domain: string, matches: ListMatch[]): void {
    let name = domain.split('.').slice(-DOMAIN_LABELS_MAX).join('.');
    for (;;) {
      const action = this.#find(subject, this.#keys.ofText(subject.customer, 'email_domain', name));
      if (action !== null && action !== 'watch') {
        matches.push({ kind: 'email_domain', action, shown: name });
        return;
      }
      const dot = name.indexOf('.');
      if (dot < 0) return;
      name = name.slice(dot + 1);
    }
  }

  /** From the most specific: address, networks, autonomous system, country. The first entry that is more than a note counts. */
  #matchAddress(subject: ListSubject, kinds: ListedKinds, matches: ListMatch[]): void {
    const { ip, geo } = subject;
    if (ip?.kind !== 'valid') return;
    const keys = this.#keys;
    const push = (kind: ListMatch['kind'], action: ListAction | null, shown: string): boolean => {
      if (action === null || action === 'watch') return false;
      matches.push({ kind, action, shown });
      return true;
    };
    if (kinds.has(IP) && push('ip', this.#find(subject, keys.ofAddress(ip.text)), ip.text)) return;
    if (kinds.has(NETWORK) && this.#matchNetworks(subject, ip.text, kinds, push)) return;
    const asn = geo?.asn ?? null;
    if (asn !== null && kinds.has(ASN) && push('asn', this.#find(subject, keys.ofAsn(asn)), `AS${asn}`)) return;
    const country = geo?.country ?? null;
    if (country !== null && kinds.has(COUNTRY)) push('country', this.#find(subject, keys.ofCountry(country)), country);
  }

  #matchNetworks(
    subject: ListSubject,
    address: string,
    kinds: ListedKinds,
    push: (kind: 'network', action: ListAction | null, shown: string) => boolean,
  ): boolean {
    const v4 = parseV4(address);
    const groups = v4 < 0 ? (parseV6(address) ?? []) : [];
    for (const bits of v4 < 0 ? kinds.v6 : kinds.v4) {
      const key = v4 < 0 ? this.#keys.ofNetwork6(groups, bits) : this.#keys.ofNetwork4(v4, bits);
      if (push('network', this.#find(subject, key), `of ${address}/${bits}`)) return true;
    }
    return false;
  }

  /** The whole text, then its beginnings from the longest. */
  #matchAgent(subject: ListSubject, kinds: ListedKinds, matches: ListMatch[]): void {
    const { customer, userAgent } = subject;
    if (userAgent === null || userAgent === '' || !kinds.has(USER_AGENT)) return;
    for (const length of [0, ...kinds.agents]) {
      if (length > userAgent.length) continue;
      const text = length === 0 ? userAgent : userAgent.slice(0, length);
      const action = this.#find(subject, this.#keys.ofText(customer, 'user_agent', text, length));
      if (action === null || action === 'watch') continue;
      matches.push({
        kind: 'user_agent',
        action,
        shown: length === 0 ? 'the whole text' : `its first ${length} characters`,
      });
      return;
    }
  }
}
