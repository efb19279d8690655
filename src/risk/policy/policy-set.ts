import { BoundedCache } from '../../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { testCustomerOf } from '../../kernel/test-customers.ts';
import { tuneRules, type TunedRule } from '../evaluate.ts';
import { type CompiledCounter, compileCounters } from './compile-counters.ts';
import type { OwnRule } from './own-rule.ts';
import { type CompiledOwnRule, OwnRuleCompiler } from './own-rules.ts';
import { assetsOf, codesIn, eventTypesOf, policyOf, type PolicyDocument, type PolicyScope } from './policy-document.ts';
import { DEFAULT_POLICY, type Bands, type NamedSources, type Policy } from './policy.ts';
import { MODEL_CODE } from '../rules/model_score.ts';
import { RULES } from '../rules/rule-table.ts';
import { isAskedOfTrusted, TrustedSources } from './trusted-sources.ts';

/** A policy compiled for decisions. */
export interface CompiledPolicy {
  /** The policy of one event type: its `bands` are that type's, including its shift. */
  readonly policy: Policy;
  /** The bands of `policy`. */
  readonly bands: Bands;
  /** The rules that are on. */
  readonly rules: readonly TunedRule[];
  /** The rule that the model fires; undefined when it is off. */
  readonly modelRule: TunedRule | undefined;
  readonly ignoredEntityKeys: ReadonlySet<string>;
  /** Null when no source is trusted. */
  readonly trusted: TrustedPart | null;
  /** Null if the rule that names a verified crawler is off. */
  readonly verified: Omit<TrustedPart, 'sources'> | null;
  /** Null without counters of the customer's own. */
  readonly counters: readonly CompiledCounter[] | null;
  /** Null without rules of the customer's own. */
  readonly own: readonly CompiledOwnRule[] | null;
}

/** Data for the decisions about trusted sources. */
export interface TrustedPart {
  readonly sources: TrustedSources;
  /** The policy's rules that also run for a trusted source. */
  readonly rules: readonly TunedRule[];
  /** The rule that names the source. */
  readonly rule: TunedRule;
}

/** The policy of a customer and an event type. */
export interface ActivePolicy extends CompiledPolicy {
  /** Compared with the active policy, but never applied; null when the file has none. */
  readonly challenger: CompiledPolicy | null;
}

/** All policies of a policy file; the default where the file sets nothing. */
export interface PolicySet {
  readonly version: string;
  /** `eventType` in lower case. Two look-ups, three for a customer with its own settings; allocates only for new policies. */
  of(customer: CustomerNumber, eventType: string): ActivePolicy;
  /**
   * Replaces the rules that a customer wrote over the API. A rule of the file with the same code wins. `tripped`: see `TrippedByCustomer`.
   */
  setRules(customer: CustomerNumber, rules: readonly OwnRule[], tripped?: readonly string[]): void;
}

/** Rules that customers wrote over the API. */
export type RulesByCustomer = ReadonlyMap<CustomerNumber, readonly OwnRule[]>;
/** Codes of rules that a circuit breaker has switched off: own rules of the policy file, which are only observed, and `MODEL_CODE`. */
export type TrippedByCustomer = ReadonlyMap<CustomerNumber, readonly string[]>;

/**
 * Creates a set of policies from a validated document. Each policy is compiled at its first use, so that a file with many customers never
 * blocks a worker. Customers without a number yet (`null`) get the common policies.
 */
export function compilePolicies(
  document: PolicyDocument,
  customerNumberOf: (id: string) => CustomerNumber | null,
  rules: RulesByCustomer = new Map(),
  tripped: TrippedByCustomer = new Map(),
): PolicySet {
  const set = new CompiledSet(document, customerNumberOf);
  for (const customer of new Set([...rules.keys(), ...tripped.keys()]))
    set.setRules(customer, rules.get(customer) ?? [], tripped.get(customer));
  return set;
}

/**
 * Choice: twice this many customers are cached with their policies, about 600 bytes for each of their event types.
 * Measured: a policy that is not cached takes 6 µs to compile, 36 µs with weights that no other one has.
 */
const CUSTOMERS_KEPT = 4_096;

class CompiledSet implements PolicySet {
  readonly version: string;
  readonly #document: PolicyDocument;
  readonly #compiler = new Compiler();
  readonly #common: Family;
  /** The file's settings by customer. They apply to its test keys too. */
  readonly #customers = new Map<CustomerNumber, PolicyScope>();
  /** Scopes of customers for which not only the common policies apply. */
  readonly #scopes = new Map<CustomerNumber, readonly PolicyScope[]>();
  readonly #tripped = new Map<CustomerNumber, ReadonlySet<string>>();
  readonly #families = new BoundedCache<CustomerNumber, Family>(CUSTOMERS_KEPT);

  constructor(document: PolicyDocument, customerNumberOf: (id: string) => CustomerNumber | null) {
    this.version = document.version;
    this.#document = document;
    this.#common = new Family([document], document, this.#compiler);
    for (const [id, scope] of document.customers) {
      const number = customerNumberOf(id);
      if (number === null) continue;
      for (const customer of [number, testCustomerOf(number)]) {
        this.#customers.set(customer, scope);
        this.#scopes.set(customer, [document, scope]);
      }
    }
  }

  of(customer: CustomerNumber, eventType: string): ActivePolicy {
    const scopes = this.#scopes.get(customer);
    if (scopes === undefined) return this.#common.of(eventType);
    let family = this.#families.get(customer);
    if (family === undefined) {
      family = new Family(scopes, this.#document, this.#compiler, this.#tripped.get(customer));
      this.#families.set(customer, family);
    }
    return family.of(eventType);
  }

  setRules(customer: CustomerNumber, rules: readonly OwnRule[], tripped: readonly string[] = []): void {
    const own = this.#customers.get(customer);
    const file = own === undefined ? [this.#document] : [this.#document, own];
    const inFile = codesIn(file);
    const counted = rules.filter(({ code }) => !inFile.has(code));
    // The least specific scope.
    if (counted.length > 0) this.#scopes.set(customer, [{ rules: counted }, ...file]);
    else if (own === undefined && tripped.length === 0) this.#scopes.delete(customer);
    else this.#scopes.set(customer, file);
    if (tripped.length > 0) this.#tripped.set(customer, new Set(tripped));
    else this.#tripped.delete(customer);
    this.#families.delete(customer);
  }
}

/** The policies of one customer, or of all customers without their own settings. */
class Family {
  readonly #scopes: readonly PolicyScope[];
  readonly #document: PolicyDocument;
  readonly #compiler: Compiler;
  readonly #tripped: ReadonlySet<string>;
  /** Null is a policy that has not been compiled yet. Event types that the file does not know are absent. */
  readonly #byEventType: Map<string, ActivePolicy | null>;
  #others: ActivePolicy | null = null;

  constructor(
    scopes: readonly PolicyScope[],
    document: PolicyDocument,
    compiler: Compiler,
    tripped: ReadonlySet<string> = NONE_TRIPPED,
  ) {
    const { challenger } = document;
    const names = eventTypesOf(challenger === null ? scopes : [...scopes, challenger]);
    this.#scopes = scopes;
    this.#document = document;
    this.#compiler = compiler;
    this.#tripped = tripped;
    this.#byEventType = new Map([...names].map((name) => [name, null]));
  }

  of(eventType: string): ActivePolicy {
    const kept = this.#byEventType.get(eventType);
    if (kept === undefined) {
      // No event type has an empty name, so this is the policy of all other event types.
      this.#others ??= this.#make('');
      return this.#others;
    }
    if (kept !== null) return kept;
    const made = this.#make(eventType);
    this.#byEventType.set(eventType, made);
    return made;
  }

  #make(eventType: string): ActivePolicy {
    const { challenger, version } = this.#document;
    const compiled = this.#compiler.compile(this.#scopes, eventType, version, this.#tripped);
    if (challenger === null) return { ...compiled, challenger: null };
    const other = this.#compiler.compile([...this.#scopes, challenger], eventType, challenger.version, this.#tripped);
    return { ...compiled, challenger: other };
  }
}

const NONE_TRIPPED: ReadonlySet<string> = new Set();

/** Choice: the number of cached customers, so that each of them may have its own weights. */
const SHARED_KEPT = CUSTOMERS_KEPT;

/** Choice: few customers trust any source; the text of a set of sources may have 100 kB. */
const SOURCES_KEPT = 64;
/** Choice: few customers declare counters of their own; their conditions are compiled again for more. */
const COUNTERS_KEPT = 256;
const NOBODY_TRUSTED = new TrustedSources({}, {});

/** Compiles policies and shares equal parts between them: rules, lists of rules and sets. */
class Compiler {
  readonly #sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();
  readonly #ruleLists = new BoundedCache<string, readonly TunedRule[]>(SHARED_KEPT);
  readonly #rules = new BoundedCache<string, TunedRule>(SHARED_KEPT);
  readonly #askedOfTrusted = new WeakMap<readonly TunedRule[], readonly TunedRule[]>();
  readonly #sources = new BoundedCache<string, TrustedSources>(SOURCES_KEPT);
  readonly #own = new OwnRuleCompiler();
  readonly #counters = new BoundedCache<string, readonly CompiledCounter[]>(COUNTERS_KEPT);

  compile(
    scopes: readonly PolicyScope[],
    eventType: string,
    version: string,
    tripped: ReadonlySet<string>,
  ): CompiledPolicy {
    const setOf = this.#setOf.bind(this) as <T>(list: readonly T[]) => ReadonlySet<T>;
    const layers = assetsOf(scopes, eventType);
    const policy = policyOf(layers, eventType, version, setOf);
    const rules = this.#rulesOf(policy);
    const modelRule = rules.find(({ rule }) => rule.code === MODEL_CODE);
    const written = policy.ownRules;
    const rulesInForce = tripped.size === 0 ? written : written.map((rule) => asTripped(rule, tripped));
    const own = this.#own.compile(rulesInForce, policy, eventType);
    return {
      policy,
      bands: policy.bands,
      rules,
      modelRule: tripped.has(MODEL_CODE) ? modelRule && { ...modelRule, isSilent: true } : modelRule,
      ignoredEntityKeys: setOf(policy.ignoredEntityKeys),
      trusted: this.#trustedPart(policy, rules),
      verified: this.#verifiedPart(rules),
      counters: this.#countersOf(policy),
      own: own.length === 0 ? null : own,
    };
  }

  /** Returns null if no source is trusted, or if the rule that names the source is off. */
  #trustedPart({ trustedNetworks, trustedAgents }: Policy, rules: readonly TunedRule[]): TrustedPart | null {
    const told = rules.find(({ rule }) => rule.code === 'trusted_source');
    if (told === undefined) return null;
    const sources = this.#sourcesOf(trustedNetworks, trustedAgents);
    if (sources.isEmpty) return null;
    return { sources, rules: this.#askedOf(rules), rule: told };
  }

  /** A crawler that proved what it is: the same rules run as for a trusted source. */
  #verifiedPart(rules: readonly TunedRule[]): CompiledPolicy['verified'] {
    const rule = rules.find((one) => one.rule.code === 'agent_verified');
    return rule === undefined ? null : { rules: this.#askedOf(rules), rule };
  }

  #countersOf({ attributes, counters }: Policy): readonly CompiledCounter[] | null {
    if (counters === DEFAULT_POLICY.counters) return null;
    const key = JSON.stringify([attributes, counters]);
    let compiled = this.#counters.get(key);
    if (compiled === undefined) {
      compiled = compileCounters({ attributes, counters });
      this.#counters.set(key, compiled);
    }
    return compiled.length === 0 ? null : compiled;
  }

  #askedOf(rules: readonly TunedRule[]): readonly TunedRule[] {
    let asked = this.#askedOfTrusted.get(rules);
    if (asked === undefined) {
      asked = rules.filter(({ rule }) => isAskedOfTrusted(rule));
      this.#askedOfTrusted.set(rules, asked);
    }
    return asked;
  }

  #sourcesOf(networks: NamedSources, agents: NamedSources): TrustedSources {
    if (networks === DEFAULT_POLICY.trustedNetworks && agents === DEFAULT_POLICY.trustedAgents) return NOBODY_TRUSTED;
    const key = JSON.stringify([networks, agents]);
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    const made = new TrustedSources(networks, agents);
    this.#sources.set(key, made);
    return made;
  }

  #setOf(list: readonly unknown[]): ReadonlySet<unknown> {
    const known = this.#sets.get(list);
    if (known !== undefined) return known;
    const made = new Set(list);
    this.#sets.set(list, made);
    return made;
  }

  #rulesOf(policy: Policy): readonly TunedRule[] {
    const key = JSON.stringify([policy.weights, policy.thresholds, policy.rulesOff]);
    const known = this.#ruleLists.get(key);
    if (known !== undefined) return known;
    const rules = tuneRules(RULES, policy).map((tuned) => this.#shared(tuned));
    this.#ruleLists.set(key, rules);
    return rules;
  }

  #shared(tuned: TunedRule): TunedRule {
    const key = JSON.stringify([tuned.index, tuned.weights, tuned.thresholds]);
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    this.#rules.set(key, tuned);
    return tuned;
  }
}

function asTripped(rule: OwnRule, tripped: ReadonlySet<string>): OwnRule {
  return tripped.has(rule.code) ? { ...rule, mode: 'observe' } : rule;
}

/** The document of an empty file. */
export const DEFAULT_DOCUMENT: PolicyDocument = {
  version: DEFAULT_POLICY.version,
  customers: new Map(),
  challenger: null,
};

/** Applies without a policy file. */
export const DEFAULT_POLICY_SET: PolicySet = compilePolicies(DEFAULT_DOCUMENT, () => null);
