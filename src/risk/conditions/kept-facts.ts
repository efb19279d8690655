import type { FingerprintHash } from '../../kernel/brand.ts';
import type { DecisionRecord } from '../decision-record.ts';
import type { AttributeValue, Entity, Facts } from '../facts.ts';
import { fusedScore } from '../fuse.ts';
import { RULES } from '../rules/rule-table.ts';
import { readAgent } from '../signals/agent.ts';
import { readEmail } from '../signals/email.ts';
import { mergeGeoParts } from '../signals/geo.ts';
import { readIp } from '../signals/ip.ts';
import type { ConditionNames } from './condition.ts';
import { type DeclaredNames, decisionNames } from './decision-facts.ts';
import type { DecisionInput } from './decision-input.ts';

/** The facts of a decision that its record keeps, and those of its logged request: for conditions over past decisions. */

const OF_RECORD: ReadonlySet<string> = new Set([
  'event.type',
  'event.time',
  'event.hour',
  'event.weekday',
  'event.public_key',
  'outcome',
  'ip.address',
  'ip.version',
  'ip.public',
  'ip.country',
  'ip.asn',
  'device.fingerprint',
  'score',
  'reasons',
]);
const OF_REQUEST = /^(?:attributes|agent|page|referrer|email)\./;

/** Where a fact of a past decision is found; null: nowhere, and it is unknown. */
export function keeperOf(name: string): 'record' | 'request' | null {
  if (OF_RECORD.has(name)) return 'record';
  return OF_REQUEST.test(name) ? 'request' : null;
}

/** As `decisionNames`, where facts that are not kept, and every named list, are always unknown. For conditions that were checked. */
export function keptNames(declared: DeclaredNames): ConditionNames<DecisionInput> {
  const names = decisionNames(declared, null);
  return {
    ...names,
    fact(path) {
      const fact = names.fact(path);
      return fact === null || keeperOf(fact.name) !== null ? fact : { ...fact, read: () => undefined };
    },
  };
}

const BUILT_IN = new Map(RULES.map((rule) => [rule.code, rule]));

/** `body`: the fields of the logged request; null without one. `attributes`: those that count. */
export function keptInput(
  record: DecisionRecord,
  body: Readonly<Record<string, unknown>> | null,
  attributes: ReadonlyMap<string, AttributeValue>,
): DecisionInput {
  const evidence = record.contributions.flatMap(({ code, weight }) => {
    const rule = BUILT_IN.get(code);
    return rule === undefined ? [] : [{ rule, weight }];
  });
  return {
    facts: { ...keptFacts(record, body), attributes },
    publicKey: record.publicKey,
    attributes,
    score: fusedScore(evidence),
    reasons: evidence.map(({ rule }) => rule.code),
    probability: null,
    inList: () => undefined,
  };
}

function keptFacts(record: DecisionRecord, body: Readonly<Record<string, unknown>> | null): Omit<Facts, 'attributes'> {
  const { country, asn } = record;
  const entities = entitiesOf(body?.['entity_keys']);
  const userAgent = textOf(body?.['user_agent']);
  return {
    eventType: record.eventType,
    outcome: record.outcome,
    ip: record.ip === null ? null : readIp(record.ip),
    userAgent,
    agent: userAgent === null || userAgent === '' ? null : readAgent(userAgent),
    url: textOf(body?.['url']),
    referrer: textOf(body?.['referrer']),
    token: { kind: 'none' },
    grant: null,
    fingerprintHash: (record.fingerprintHash ?? '') as FingerprintHash,
    entities,
    emails: entities.flatMap(({ value }) => readEmail(value) ?? []),
    headers: new Map(),
    geo: mergeGeoParts([{ ...(country !== null && { country }), ...(asn !== null && { asn }) }]),
    list: null,
    registry: null,
    history: null,
    nowSeconds: Math.floor(record.occurredAtMs / 1_000),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function entitiesOf(value: unknown): Entity[] {
  return Object.entries(Object(value) as object).flatMap(([name, text]) =>
    typeof text === 'string' ? [{ name, value: text }] : [],
  );
}
