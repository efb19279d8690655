import { unpackRecord } from '../history/decision-log/match.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { RULE_SAMPLE_DECISIONS } from '../kernel/history-limits.ts';
import { compileCondition } from '../risk/conditions/compile-condition.ts';
import type { AttributeValue } from '../risk/facts.ts';
import { keeperOf, keptInput, keptNames } from '../risk/conditions/kept-facts.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { type AttributeDeclarations, countedAttributes } from '../risk/policy/attributes.ts';
import { type Declarations, declaredNames } from '../risk/policy/counter-declarations.ts';
import type { AnyRequest } from './kit/endpoint-types.ts';

export interface RuleSampleParts {
  readonly decisions: Pick<DecisionReader, 'scan'>;
  /** Returns the bodies of the newest requests that this node has logged, by their ids. */
  readonly newestRequests: (customer: CustomerNumber) => ReadonlyMap<string, Buffer>;
}

/** Choice: enough to look at. */
const EXAMPLES_MAX = 5;

/**
 * Evaluates a condition that can be compiled on the newest decisions that are kept, in slices of the main thread. Null while too many
 * searches run.
 */
export async function sampleCondition(
  { decisions, newestRequests }: RuleSampleParts,
  { caller, nowMs, coverage }: AnyRequest,
  when: string,
  eventTypes: readonly string[] | null,
  declared: Declarations,
): Promise<object | null> {
  const compiled = compileCondition(when, keptNames(declaredNames(declared)));
  if (compiled.kind === 'faults') return null;
  const { condition } = compiled;
  const names = condition.facts.map(({ name }) => name);
  const bodies = names.some((name) => keeperOf(name) === 'request') ? newestRequests(caller.customer) : NO_BODIES;
  const counted = { decisions: 0, matches: 0, undecided: 0 };
  const devices = new Set<string>();
  const matches: DecisionRecord[] = [];
  const query = {
    sinceMs: null,
    untilMs: null,
    nowMs,
    rowsMax: RULE_SAMPLE_DECISIONS,
    coverage,
  };
  let oldestMs: number | null = null;
  const scanned = await decisions.scan(caller.customer, query, (_record, bytes, at, end) => {
    const record = unpackRecord(bytes, at, end);
    // A decision without a token runs no own rule.
    if (record === null || record.fingerprintHash === null) return false;
    const body = bodies.get(record.requestId);
    if (bodies.size > 0 && body === undefined) return false;
    counted.decisions++;
    oldestMs = Math.min(oldestMs ?? record.occurredAtMs, record.occurredAtMs);
    if (eventTypes?.includes(record.eventType) === false) return false;
    const fields = body === undefined ? null : fieldsOf(body);
    const holds = condition.evaluate(keptInput(record, fields, attributesOf(record, fields, declared.attributes)));
    if (holds === undefined) counted.undecided++;
    if (holds !== true) return false;
    counted.matches++;
    devices.add(record.fingerprintHash);
    matches.push(record);
    return false;
  });
  if (scanned.kind === 'busy') return null;
  matches.sort((a, b) => b.occurredAtMs - a.occurredAtMs);
  return {
    ...counted,
    since: oldestMs === null ? null : Math.floor(oldestMs / 1_000),
    devices: devices.size,
    facts_missing: [
      ...names.filter((name) => keeperOf(name) === null || (keeperOf(name) === 'request' && bodies.size === 0)),
      ...condition.lists.map((name) => `list.${name}`),
    ],
    examples: matches.slice(0, EXAMPLES_MAX).map(({ requestId }) => requestId),
  };
}

const NO_BODIES: ReadonlyMap<string, Buffer> = new Map();

type Fields = Readonly<Record<string, unknown>>;

/** The body was decided, so it is an object with attributes of the right form. */
function fieldsOf(body: Buffer): Fields {
  try {
    return Object(JSON.parse(body.toString())) as Fields;
  } catch {
    return {};
  }
}

function attributesOf(
  { publicKey }: DecisionRecord,
  fields: Fields | null,
  declarations: AttributeDeclarations,
): ReadonlyMap<string, AttributeValue> {
  const sent = Object.entries(Object(fields?.['attributes']) as Readonly<Record<string, AttributeValue>>);
  return countedAttributes(new Map(sent), declarations, publicKey);
}
