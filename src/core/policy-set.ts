import { BoundedCache } from '../base/bounded-cache.ts';
import type { CustomerNumber } from '../base/brand.ts';
import { tuneRules, type TunedRule } from './evaluate.ts';
import { eventTypesOf, layersOf, policyOf, type PolicyDocument, type PolicyScope } from './policy-document.ts';
import { DEFAULT_POLICY, type Bands, type Policy } from './policy.ts';
import { RULES } from './rules/index.ts';
import { isAskedOfTrusted, TrustedSources, type NamedSources } from './trusted-sources.ts';

/** A policy, ready to decide with. */
export interface CompiledPolicy {
  /** Of one event type: its `bands` are that type's, with its shift. */
  readonly policy: Policy;
  /** Those of `policy`. */
  readonly bands: Bands;
  /** The rules that are on. */
  readonly rules: readonly TunedRule[];
  /** The rule that the model fires; undefined when it is off. */
  readonly modelRule: TunedRule | undefined;
  readonly ignoredEntityKeys: ReadonlySet<string>;
  /** Null when nobody is trusted. */
  readonly trusted: TrustedPart | null;
}

/** What counts for a trusted source. */
export interface TrustedPart {
  readonly sources: TrustedSources;
  /** Those of the policy's rules that are asked about it. */
  readonly rules: readonly TunedRule[];
  /** The rule that says so. */
  readonly rule: TunedRule;
}

/** The policy of a customer and an event type. */
export interface ActivePolicy extends CompiledPolicy {
  /** What decides nothing and is only compared; null when the file has none. */
  readonly challenger: CompiledPolicy | null;
}

/** All policies of a policy file, and the default where it says nothing. */
export interface PolicySet {
  readonly version: string;
  /** `eventType` in lower case. Two look-ups, three for a customer with a part of its own; allocates for new policies only. */
  of(customer: CustomerNumber, eventType: string): ActivePolicy;
}

/**
 * Makes a set of policies out of a document that was checked. Each policy is made when it is first asked for, so that a file with
 * many customers never holds a worker up; customers without a number yet (`null`) have the common policies.
 */
export function compilePolicies(
  document: PolicyDocument,
  customerNumberOf: (id: string) => CustomerNumber | null,
): PolicySet {
  return new CompiledSet(document, customerNumberOf);
}

/**
 * Choice: twice this many customers are kept with their policies, some 600 bytes for each of their event types.
 * Measured: a policy that is not kept takes 6 µs to make, 36 µs with weights that no other one has.
 */
const CUSTOMERS_KEPT = 4_096;

class CompiledSet implements PolicySet {
  readonly version: string;
  readonly #document: PolicyDocument;
  readonly #compiler = new Compiler();
  readonly #common: Family;
  /** What the file says of customers. */
  readonly #customers = new Map<CustomerNumber, PolicyScope>();
  readonly #families = new BoundedCache<CustomerNumber, Family>(CUSTOMERS_KEPT);

  constructor(document: PolicyDocument, customerNumberOf: (id: string) => CustomerNumber | null) {
    this.version = document.version;
    this.#document = document;
    this.#common = new Family([document], document, this.#compiler);
    for (const [id, scope] of document.customers) {
      const number = customerNumberOf(id);
      if (number !== null) this.#customers.set(number, scope);
    }
  }

  of(customer: CustomerNumber, eventType: string): ActivePolicy {
    const scope = this.#customers.get(customer);
    if (scope === undefined) return this.#common.of(eventType);
    let family = this.#families.get(customer);
    if (family === undefined) {
      family = new Family([this.#document, scope], this.#document, this.#compiler);
      this.#families.set(customer, family);
    }
    return family.of(eventType);
  }
}

/** The policies of one customer, or of all that have none of their own. */
class Family {
  readonly #scopes: readonly PolicyScope[];
  readonly #document: PolicyDocument;
  readonly #compiler: Compiler;
  /** Null is a policy that nobody has asked for yet. Event types that the file does not know are not here. */
  readonly #byEventType: Map<string, ActivePolicy | null>;
  #others: ActivePolicy | null = null;

  constructor(scopes: readonly PolicyScope[], document: PolicyDocument, compiler: Compiler) {
    const { challenger } = document;
    const names = eventTypesOf(challenger === null ? scopes : [...scopes, challenger]);
    this.#scopes = scopes;
    this.#document = document;
    this.#compiler = compiler;
    this.#byEventType = new Map([...names].map((name) => [name, null]));
  }

  of(eventType: string): ActivePolicy {
    const kept = this.#byEventType.get(eventType);
    if (kept === undefined) {
      // No event type has an empty name, so this is what every other one gets.
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
    const compiled = this.#compiler.compile(this.#scopes, eventType, version);
    if (challenger === null) return { ...compiled, challenger: null };
    const other = this.#compiler.compile([...this.#scopes, challenger], eventType, challenger.version);
    return { ...compiled, challenger: other };
  }
}

/** Choice: as many as customers are kept, so that each of those may have weights of its own. */
const SHARED_KEPT = CUSTOMERS_KEPT;

/** Choice: few customers trust anybody; the text of a set of sources may have 100 kB. */
const SOURCES_KEPT = 64;
const NOBODY_TRUSTED = new TrustedSources({}, {});

/** Makes policies and shares what is alike between them: rules, lists of rules and sets. */
class Compiler {
  readonly #sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();
  readonly #ruleLists = new BoundedCache<string, readonly TunedRule[]>(SHARED_KEPT);
  readonly #rules = new BoundedCache<string, TunedRule>(SHARED_KEPT);
  readonly #askedOfTrusted = new WeakMap<readonly TunedRule[], readonly TunedRule[]>();
  readonly #sources = new BoundedCache<string, TrustedSources>(SOURCES_KEPT);

  compile(scopes: readonly PolicyScope[], eventType: string, version: string): CompiledPolicy {
    const setOf = this.#setOf.bind(this) as <T>(list: readonly T[]) => ReadonlySet<T>;
    const policy = policyOf(layersOf(scopes, eventType), eventType, version, setOf);
    const rules = this.#rulesOf(policy);
    return {
      policy,
      bands: policy.bands,
      rules,
      modelRule: rules.find(({ rule }) => rule.code === 'model_score'),
      ignoredEntityKeys: setOf(policy.ignoredEntityKeys),
      trusted: this.#trustedPart(policy, rules),
    };
  }

  /** Null where nobody is trusted, or the rule that says who is is off. */
  #trustedPart({ trustedNetworks, trustedAgents }: Policy, rules: readonly TunedRule[]): TrustedPart | null {
    const told = rules.find(({ rule }) => rule.code === 'trusted_source');
    if (told === undefined) return null;
    const sources = this.#sourcesOf(trustedNetworks, trustedAgents);
    if (sources.isEmpty) return null;
    let asked = this.#askedOfTrusted.get(rules);
    if (asked === undefined) {
      asked = rules.filter(({ rule }) => isAskedOfTrusted(rule));
      this.#askedOfTrusted.set(rules, asked);
    }
    return { sources, rules: asked, rule: told };
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

/** A file that says nothing. */
export const DEFAULT_DOCUMENT: PolicyDocument = {
  version: DEFAULT_POLICY.version,
  customers: new Map(),
  challenger: null,
};

/** What counts without a policy file. */
export const DEFAULT_POLICY_SET: PolicySet = compilePolicies(DEFAULT_DOCUMENT, () => null);
