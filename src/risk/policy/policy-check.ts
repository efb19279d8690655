import { periodMs } from './row-retention.ts';
import { hash } from 'node:crypto';
import type * as z from 'zod';
import { POLICY_FAULTS_MAX } from '../../kernel/limits.ts';
import { findBadNames } from './json-names.ts';
import { childPointer, pointerOf } from '../../kernel/json-pointer.ts';
import type { CounterDeclaration } from './counter-declarations.ts';
import type { OwnRule } from './own-rule.ts';
import { MODEL_CODE, MODEL_WEIGHT_MAX } from '../rules/model_score.ts';
import { ownRuleFaults } from './own-rule-faults.ts';
import { bandFaults } from './policy-bands.ts';
import type { PolicyDocument, PolicyNote, PolicyPart, PolicyScope } from './policy-document.ts';
import { closest } from '../../kernel/closest-name.ts';
import { quoted, unknownName } from './policy-names.ts';
import { asnOf, BANDS_SCHEMA, CODE_MESSAGE, POLICY_SCHEMA } from './policy-schema.ts';
import type { RawPart, RawPolicy, RawScope } from './policy-schema.ts';

export type ParsedPolicy =
  | { readonly kind: 'ok'; readonly document: PolicyDocument; readonly warnings: readonly PolicyNote[] }
  /** All faults; never empty. */
  | { readonly kind: 'faults'; readonly faults: readonly PolicyNote[] };

/** Parses the text of a policy file into its document, or into everything that is wrong with it. Total. */
export function parsePolicy(text: string): ParsedPolicy {
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch (error) {
    return { kind: 'faults', faults: [{ pointer: '', message: `the file is not JSON: ${messageOf(error)}` }] };
  }
  const names = findBadNames(text);
  const parsed = POLICY_SCHEMA.safeParse(value);
  if (!parsed.success) {
    const bands = BANDS_SCHEMA.safeParse(value);
    const risen = bands.success ? bandFaults(documentOf(bands.data, '')) : [];
    return faultsOf([
      ...names.map((name) => () => name),
      ...parsed.error.issues.flatMap((issue) => notesOf(issue, value)),
      ...risen.map((fault) => () => fault),
    ]);
  }
  const document = documentOf(parsed.data, hash('sha256', text).slice(0, 12));
  const faults = [...names, ...bandFaults(document), ...ownRuleFaults(document)];
  if (faults.length > 0) return faultsOf(faults.map((fault) => () => fault));
  return { kind: 'ok', document, warnings: [...warningsOf(document), ...loweredWeights(parsed.data, [])] };
}

/** Builds a note on demand: an invalid file may have many, of which few are shown. */
type LazyNote = () => PolicyNote;

function faultsOf(lazyNotes: readonly LazyNote[]): ParsedPolicy {
  const faults = lazyNotes.slice(0, POLICY_FAULTS_MAX).map((make) => make());
  const more = lazyNotes.length - faults.length;
  return { kind: 'faults', faults: more === 0 ? faults : [...faults, { pointer: '', message: `and ${more} more` }] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error);
}

/** Returns one note for each fault; zod has one issue for all unknown names of an object. */
function notesOf(issue: z.core.$ZodIssue, file: unknown): LazyNote[] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') {
    // `findBadNames` has already reported that name.
    const names = issue.keys.filter((name) => name !== '__proto__');
    return names.map((name) => () => ({ pointer: pointerOf([...path, name]), message: unknownKey(path, name) }));
  }
  return [() => ({ pointer: pointerOf(path), message: wordingOf(issue, file) })];
}

function wordingOf(issue: z.core.$ZodIssue, file: unknown): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  if (issue.message !== CODE_MESSAGE) return issue.message;
  const given = issue.path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)[key], file);
  return typeof given === 'string' ? unknownName('rule', given) : issue.message;
}

const TOP_NAMES: readonly string[] = Object.keys(POLICY_SCHEMA.shape);
const BAND_KEYS: readonly string[] = ['allow_watch', 'soft_challenge', 'review', 'block'];

function unknownKey(path: readonly PropertyKey[], name: string): string {
  const container = path.at(-1);
  if (container === 'weights') return unknownName('weight', name);
  if (container === 'thresholds') return unknownName('threshold', name);
  if (container === 'bands') return `there is no band ${quoted(name)}; the bands are ${BAND_KEYS.join(', ')}`;
  if (path.length > 0 && TOP_NAMES.includes(name)) return `${quoted(name)} is not allowed here`;
  const close = closest(name, TOP_NAMES);
  return `there is no part ${quoted(name)}${close === null ? '' : `; did you mean ${close}?`}`;
}

function documentOf(raw: RawPolicy, contentHash: string): PolicyDocument {
  const version = raw.version ?? contentHash;
  const challenger = raw.challenger;
  return {
    version,
    ...scopeOf(raw),
    customers: new Map(Object.entries(raw.customers ?? {}).map(([id, scope]) => [id, scopeOf(scope)])),
    challenger:
      challenger === undefined
        ? null
        : { version: challenger.version ?? `${version}-challenger`, ...scopeOf(challenger) },
  };
}

function scopeOf(raw: RawScope): PolicyScope {
  const {
    shifts,
    event_types: types,
    attributes,
    counters,
    log_requests: logged,
    retention,
    rules_trip_factor: factor,
    gate,
  } = raw;
  return {
    ...partOf(raw),
    gate: gate && { paths: gate.paths, exempt: gate.exempt, challengeUrl: gate.challenge_url },
    attributes:
      attributes === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(attributes).map(([name, one]) => [name, { type: one.type, isPublic: one.public ?? false }]),
          ),
    counters:
      counters === undefined
        ? undefined
        : Object.fromEntries(Object.entries(counters).map(([name, one]) => [name, counterOf(one)])),
    logRequestsDays: logged === undefined ? undefined : logged === 'off' ? 0 : Number.parseInt(logged, 10),
    retention:
      retention && Object.fromEntries(Object.entries(retention).map(([name, text]) => [name, periodMs(text ?? '')])),
    rulesTripFactor: factor === 'off' ? 0 : factor,
    shifts: shifts === undefined ? undefined : new Map(Object.entries(shifts)),
    eventTypes:
      types === undefined ? undefined : new Map(Object.entries(types).map(([name, part]) => [name, partOf(part)])),
  };
}

function counterOf(raw: NonNullable<RawScope['counters']>[string]): CounterDeclaration {
  return { kind: raw.kind, of: raw.of ?? null, by: raw.by, window: raw.window, when: raw.when ?? null };
}

function partOf(raw: RawPart): PolicyPart {
  const { bands, mode } = raw;
  return {
    mode,
    logFeaturesSample: raw.log_features_sample,
    logIdentities: raw.log_identities,
    bands:
      bands === undefined
        ? undefined
        : {
            allowWatch: bands.allow_watch,
            softChallenge: bands.soft_challenge,
            review: bands.review,
            block: bands.block,
          },
    // Every name present has a number: absent names are also absent from the parsed value.
    weights: weightsOf(raw),
    thresholds: raw.thresholds as PolicyPart['thresholds'],
    rulesOff: raw.rules_off,
    ignoredEntityKeys: raw.ignored_entity_keys,
    watchedCountries: raw.watched_countries,
    watchedAsns: raw.watched_asns?.map(asnOf),
    hostingAsns: raw.hosting_asns?.map(asnOf),
    relayAsns: raw.relay_asns?.map(asnOf),
    trustedNetworks: raw.trusted_networks,
    trustedAgents: raw.trusted_agents,
    agents: raw.agents,
    modelFirstDay: raw.model?.first_day,
    grant: raw.grant,
    sampleRate: raw.sample_rate,
    rules: raw.rules?.map(ownRuleOf),
  };
}

/** The weight of the model stands in its own member, and as any other in `weights`; both are bounded. */
function weightsOf(raw: Pick<RawPart, 'weights' | 'model'>): PolicyPart['weights'] {
  const given = raw.model?.weight ?? raw.weights?.[MODEL_CODE];
  if (given === undefined) return raw.weights as PolicyPart['weights'];
  return { ...(raw.weights as PolicyPart['weights']), [MODEL_CODE]: Math.min(given, MODEL_WEIGHT_MAX) };
}

/** Returns a warning for each weight of the model above its bound, wherever the file has it. */
function loweredWeights(value: unknown, path: readonly string[]): PolicyNote[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const own = [...path, name];
    const isLowered = name === MODEL_CODE && path.at(-1) === 'weights' && Number(member) > MODEL_WEIGHT_MAX;
    const message = `the weight of a model is at most ${MODEL_WEIGHT_MAX}, so ${String(member)} counts as that`;
    return isLowered ? [{ pointer: pointerOf(own), message }] : loweredWeights(member, own);
  });
}

function ownRuleOf(raw: NonNullable<RawPart['rules']>[number]): OwnRule {
  return {
    code: raw.code,
    when: raw.when,
    weight: raw.weight ?? null,
    decision: raw.decision ?? null,
    mode: raw.mode ?? 'observe',
    eventTypes: raw.event_types ?? null,
    note: raw.note ?? '',
    expiresAtSeconds: raw.expires_at ?? null,
    ...(raw.predicted !== undefined && { predicted: raw.predicted }),
  };
}

/** Source: contract, 4.2. Any other text is an event type too. */
const EVENT_TYPES = ['login', 'signup', 'checkout', 'payment', 'search'];

function warningsOf(document: PolicyDocument): PolicyNote[] {
  const warnings: PolicyNote[] = [];
  const look = (scope: PolicyScope, place: string): void => {
    const named = [
      ['shifts', [...(scope.shifts?.keys() ?? [])]],
      ['event_types', [...(scope.eventTypes?.keys() ?? [])]],
    ] as const;
    for (const [part, types] of named) {
      for (const type of types) {
        const close = EVENT_TYPES.includes(type) ? null : closest(type, EVENT_TYPES);
        if (close === null) continue;
        const message = `${quoted(type)} is an event type of your own; did you mean ${close}?`;
        warnings.push({ pointer: childPointer(`${place}/${part}`, type), message });
      }
    }
  };
  look(document, '');
  for (const [id, scope] of document.customers) look(scope, `/customers/${id}`);
  if (document.challenger !== null) look(document.challenger, '/challenger');
  return warnings;
}
