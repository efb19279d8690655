import { periodMs, periodText, RETENTION_MAX, RETENTION_MIN, type RetentionClass } from './row-retention.ts';
import * as z from 'zod';
import {
  GATE_PATHS_MAX,
  POLICY_COUNTRIES_MAX,
  POLICY_CUSTOMERS_MAX,
  POLICY_ENTITY_KEYS_MAX,
  POLICY_EVENT_TYPES_MAX,
  POLICY_NETWORKS_MAX,
  POLICY_TRUSTED_NAMES_MAX,
  POLICY_TRUSTED_PER_NAME_MAX,
  USER_AGENT_CHARACTERS_MAX,
  ENTITY_NAME_CHARACTERS_MAX,
} from '../../kernel/limits.ts';
import { amount, byName, fields, list, writtenText } from './schema-parts.ts';
import { RULE_CODES, THRESHOLDS, WEIGHTS, type RuleNumber } from './policy-names.ts';
import { DECISIONS } from '../decision.ts';
import { CONDITION_CHARACTERS_MAX } from '../conditions/condition.ts';
import { ATTRIBUTE_NAME, ATTRIBUTE_TYPES, DEFAULT_ATTRIBUTES } from './attributes.ts';
import { COUNTERS_SCHEMA } from './counter-schema.ts';
import { OWN_CODE, OWN_RULE_MODES, OWN_RULES_MAX } from './own-rule.ts';
import { AGENT_PURPOSES } from '../../contract/vocabulary.ts';
import { AGENT_ACTIONS, type AgentAction } from '../signals/claimed-agent.ts';
import { isAgentPattern, readNetwork } from './trusted-sources.ts';
import { MODEL_WEIGHT_MAX } from '../rules/model_score.ts';
import {
  DEFAULT_POLICY,
  GRANT_POLICIES,
  LOG_IDENTITIES,
  MODEL_FIRST_DAYS,
  POLICY_MODES,
  type Bands,
} from './policy.ts';

/** The schema of a policy file, also published as JSON Schema. `policy-check.ts` checks what a schema cannot express. */

/** Choice: twice what a request may have. */
const POLICY_ATTRIBUTES_MAX = 64;
const CUSTOMER_ID = /^cus_[0-9A-HJKMNP-TV-Z]{26}$/;
/** Source: RFC 6793, section 3: 32 bits. */
const ASN_MAX = 2 ** 32 - 1;

const eventTypeMessage = 'must be an event type: 1 to 64 characters, in lower case, without spaces around it';
const eventType = z
  .string()
  .min(1, eventTypeMessage)
  .max(64, eventTypeMessage)
  .refine((given) => given === given.trim().toLowerCase(), eventTypeMessage);
const customerId = z.string().regex(CUSTOMER_ID, 'must be a customer id, cus_ and 26 characters');
const asnMessage = 'must be the number of a network, such as 64500 or "AS64500"';
const asn = z
  .union(
    [
      z.int(asnMessage).min(0, asnMessage).max(ASN_MAX, asnMessage),
      z.string().regex(/^AS(?:0|[1-9]\d{0,9})$/, { error: asnMessage, abort: true }),
    ],
    asnMessage,
  )
  .refine((given) => asnOf(given) <= ASN_MAX, asnMessage);

/** `AS64500` and 64500 are equivalent. */
export function asnOf(given: number | string): number {
  return typeof given === 'number' ? given : Number(given.slice('AS'.length));
}

function numbersByName(names: ReadonlyMap<string, RuleNumber>, max: number, what: string) {
  const shape: Record<string, z.ZodOptional<z.ZodNumber>> = {};
  for (const [name, { rule, value }] of names) {
    const description = `${rule.code}: ${rule.hint}. ${what}`;
    shape[name] = amount(0, max).optional().meta({ description, default: value });
  }
  return fields(shape);
}

const { bands } = DEFAULT_POLICY;
function bandsText({ allowWatch, softChallenge, review, block }: Bands): string {
  return [allowWatch, softChallenge, review ?? 'none', block].join(' / ');
}
const bandsSchema = fields({
  allow_watch: amount(0, 100).optional().meta({ default: bands.allowWatch }),
  soft_challenge: amount(0, 100).optional().meta({ default: bands.softChallenge }),
  review: amount(0, 100).nullable().optional().meta({
    description: 'Null: no score leads to REVIEW.',
    default: bands.review,
  }),
  block: amount(0, 100).optional().meta({ default: bands.block }),
}).meta({
  id: 'bands',
  description:
    'Lowest scores of the decisions above ALLOW; the defaults are those of all event types except payment and checkout, which ' +
    `have ${bandsText(DEFAULT_POLICY.eventTypeBands['payment'] ?? bands)}. ` +
    'They must rise, including every shift. Bands of an event type are used as written; its shift is added to the others.',
});
const weightsSchema = numbersByName(WEIGHTS, 1, 'A probability; 0 keeps the reason but removes its weight.').meta({
  id: 'weights',
  description: 'Weights of rules, by code or by code and level.',
});
const thresholdsSchema = numbersByName(THRESHOLDS, 1e9, 'Its unit is in its name.').meta({
  id: 'thresholds',
  description: 'Numbers from which rules fire, by code and name.',
});
const asns = list(asn, POLICY_NETWORKS_MAX).meta({
  id: 'networks',
  description: 'Numbers of autonomous systems, as 64500 or "AS64500".',
});

/** `unknownName` replaces this message by a better one, which takes longer to build. */
export const CODE_MESSAGE = 'must be the code of a rule';
const codes = list(z.enum(RULE_CODES, CODE_MESSAGE), RULE_CODES.length).meta({
  id: 'rules_off',
  description: 'Codes of rules that are switched off.',
});

const sourceName = z
  .string()
  .regex(/^[\w .:-]{1,64}$/, 'must be a name: 1 to 64 letters, digits, spaces, or one of _ . : -');
const trustedNetwork = z
  .string()
  .refine(
    (given) => readNetwork(given) !== null,
    'must be a network such as 203.0.113.0/24 or 2001:db8::/32, of /8 or longer for IPv4 and /16 for IPv6',
  );
const trustedAgent = writtenText(USER_AGENT_CHARACTERS_MAX).refine(
  isAgentPattern,
  'must be a user agent, or a prefix followed by *, and must not match every browser',
);
const bySourceName = (source: z.ZodType<string>) =>
  byName(sourceName, list(source, POLICY_TRUSTED_PER_NAME_MAX), POLICY_TRUSTED_NAMES_MAX);

const wholeCount = z.int('must be a count').min(0, 'must be a count');
const ownRule = fields({
  code: z.string().regex(OWN_CODE, 'must be own_ and 1 to 40 lower-case letters, digits or _'),
  when: writtenText(CONDITION_CHARACTERS_MAX).meta({ description: 'A condition over the facts of a decision.' }),
  weight: amount(0, 1).optional().meta({ description: 'A probability, which joins the score in the family own.' }),
  decision: z
    .enum(DECISIONS, `must be one of ${DECISIONS.join(', ')}`)
    .optional()
    .meta({ description: 'The mildest decision while the rule fires. ALLOW exempts from everything but lists.' }),
  mode: z
    .enum(OWN_RULE_MODES, `must be ${OWN_RULE_MODES.join(' or ')}`)
    .optional()
    .meta({ description: 'observe: evaluated and shown, without an effect.', default: 'observe' }),
  event_types: list(eventType, POLICY_EVENT_TYPES_MAX).optional().meta({ description: 'Without them, all.' }),
  note: writtenText(200).optional(),
  expires_at: z.int('must be a time').positive('must be a time').optional().meta({ description: 'Unix seconds.' }),
  predicted: fields({ touched: wholeCount, decisions: wholeCount }).optional().meta({
    id: 'predicted',
    description: 'What it did in a backtest or while it was observed; the circuit breaker compares with it.',
  }),
})
  .refine(({ weight, decision }) => (weight === undefined) !== (decision === undefined), {
    error: 'must have either weight or decision',
  })
  .meta({ id: 'own_rule', description: 'A rule of your own.' });

const part = {
  rules: list(ownRule, OWN_RULES_MAX)
    .refine((given) => new Set(given.map(({ code }) => code)).size === given.length, 'must have each code once')
    .optional()
    .meta({ description: 'Rules of your own. A rule replaces one with its code that is less specific.' }),
  bands: bandsSchema.optional(),
  weights: weightsSchema.optional(),
  thresholds: thresholdsSchema.optional(),
  rules_off: codes.optional(),
  ignored_entity_keys: list(writtenText(ENTITY_NAME_CHARACTERS_MAX), POLICY_ENTITY_KEYS_MAX).optional().meta({
    description: 'Names in entity_keys that do not identify a person.',
    default: DEFAULT_POLICY.ignoredEntityKeys,
  }),
  watched_countries: list(
    z.string().regex(/^[A-Z]{2}$/, 'must be a country, as two capital letters'),
    POLICY_COUNTRIES_MAX,
  )
    .optional()
    .meta({ description: 'Countries that ip_watched_country fires for, as ISO 3166-1 alpha-2.' }),
  watched_asns: asns.optional().meta({ description: 'Networks that ip_watched_asn fires for.' }),
  hosting_asns: asns.optional().meta({ description: 'Networks of hosting companies, instead of the default list.' }),
  relay_asns: asns
    .optional()
    .meta({ description: 'Networks of private relays and satellites, instead of the default list.' }),
  trusted_networks: bySourceName(trustedNetwork)
    .optional()
    .meta({ description: 'Trusted networks (CIDR) by name: rules of client and volume do not run for them.' }),
  trusted_agents: bySourceName(trustedAgent).optional().meta({
    description: 'Trusted user agents by name; one that ends in * matches all that begin with the text before it.',
  }),
  model: z
    .strictObject({
      weight: z.number().min(0).max(MODEL_WEIGHT_MAX, `must be at most ${MODEL_WEIGHT_MAX}`).optional(),
      first_day: z.enum(MODEL_FIRST_DAYS).optional(),
    })
    .optional()
    .meta({ description: 'The weight of `model_score`, and whether the model counts on the first day of a customer.' }),
  agents: z
    .partialRecord(z.enum(AGENT_PURPOSES), z.enum(Object.keys(AGENT_ACTIONS) as [AgentAction, ...AgentAction[]]))
    .optional()
    .meta({ description: 'What becomes of verified crawlers, by their purpose: for them it stands in for the score.' }),
  grant: z
    .enum(GRANT_POLICIES, `must be ${GRANT_POLICIES.join(' or ')}`)
    .optional()
    .meta({
      description:
        'required: a session token without a grant of the collector weighs .35 (token_without_grant), also for people who block ' +
        'scripts and for apps that send a session id of their own.',
      default: DEFAULT_POLICY.grant,
    }),
  sample_rate: amount(0, 1).optional().meta({
    description: 'Share of all decisions that is copied to the shadow review queue.',
    default: DEFAULT_POLICY.sampleRate,
  }),
};
const partSchema = fields(part).meta({
  id: 'challenger_part',
  description: 'Overrides of the challenger for one event type.',
});

/** Settings that a challenger cannot have, because it decides nothing. */
const deciding = {
  mode: z
    .enum(POLICY_MODES, `must be ${POLICY_MODES.join(' or ')}`)
    .optional()
    .meta({
      description:
        'observe: decisions are made, logged and answered as ALLOW, with what they would have been in would_be. ' +
        'Lists and requests without a session token are answered as usual.',
      default: DEFAULT_POLICY.mode,
    }),
  log_features_sample: amount(0, 1).optional().meta({
    description:
      'Share of sessions of whose ALLOW decisions the log keeps the features; those of all other decisions are kept.',
    default: DEFAULT_POLICY.logFeaturesSample,
  }),
  log_identities: z
    .enum(LOG_IDENTITIES, `must be one of ${LOG_IDENTITIES.join(', ')}`)
    .optional()
    .meta({
      description:
        'How the decision log keeps the values of entity_keys. none: not at all, and no decision is found by them. hashed: as ' +
        "hashes that only this installation can compute. masked: also a few of each value's characters. plain: also the value.",
      default: DEFAULT_POLICY.logIdentities,
    }),
};
const decidingPartSchema = fields({ ...part, ...deciding }).meta({
  id: 'part',
  description: 'Overrides for one event type.',
});

const shifts = byName(eventType, amount(-100, 100), POLICY_EVENT_TYPES_MAX).optional().meta({
  description: 'Points added to the bands soft_challenge, review and block, by event type.',
});
const byEventType = <Part extends z.ZodType>(otherwise: Part) =>
  byName(eventType, otherwise, POLICY_EVENT_TYPES_MAX).optional().meta({ description: 'Overrides by event type.' });
const attributes = byName(
  z.string().regex(ATTRIBUTE_NAME, 'must be a name: 1 to 32 lower-case letters, digits and _, with a letter first'),
  fields({
    type: z.enum(ATTRIBUTE_TYPES, `must be one of ${ATTRIBUTE_TYPES.join(', ')}`),
    public: z.boolean('must be true or false').optional().meta({
      description: 'Whether it counts in a request that was signed with a public key, which any visitor can sign.',
      default: false,
    }),
  }).meta({ id: 'attribute' }),
  POLICY_ATTRIBUTES_MAX,
)
  .optional()
  .meta({ description: `Attributes that conditions read, besides ${Object.keys(DEFAULT_ATTRIBUTES).join(', ')}.` });
/** Choice: the longest time for which the decision log keeps a decision, three times. */
const logRequests = z
  .string('must be "off" or days from 1d to 90d, such as "14d"')
  .regex(/^(?:off|(?:[1-9]|[1-8]\d|90)d)$/, 'must be "off" or days from 1d to 90d, such as "14d"')
  .optional()
  .meta({
    description:
      'How long this node keeps the requests of decisions and their outcomes, encrypted, for backtests: days as "14d". At most 1 GiB a customer.',
    default: 'off',
  });
function period(name: RetentionClass) {
  const [least, most] = [RETENTION_MIN[name], RETENTION_MAX[name]];
  const message = `must be hours or days from ${periodText(least)} to ${periodText(most)}, such as "${periodText(most)}"`;
  return z
    .string(message)
    .refine((text) => periodMs(text) >= least && periodMs(text) <= most, message)
    .optional()
    .meta({ default: periodText(most) });
}
const retention = z
  .strictObject({
    allow: period('allow'),
    flagged: period('flagged'),
    labels: period('labels'),
    audit: period('audit'),
    requests: period('requests'),
    features: period('features'),
  })
  .optional()
  .meta({ description: 'How long rows about people are kept, by class, as "6h" or "30d". It only shortens.' });
const TRIP_FACTOR = 'must be "off" or a number from 2 to 1000';
const rulesTripFactor = z
  .union([z.literal('off'), z.number(TRIP_FACTOR).min(2, TRIP_FACTOR).max(1_000, TRIP_FACTOR)], TRIP_FACTOR)
  .optional()
  .meta({
    description:
      'How many times its predicted share an enforced rule of your own may touch before it is only observed.',
    default: DEFAULT_POLICY.rulesTripFactor,
  });
const gatePath = z
  .string()
  .max(200)
  .regex(
    /^(?:[A-Z]{1,16} )?\/[\x21-\x7e]*$/,
    'must be a path such as /login, after a method such as POST if it is for that one alone',
  );
const gate = fields({
  paths: byName(gatePath, eventType, GATE_PATHS_MAX).optional().meta({
    description:
      'Event types of requests by path, as "POST /login" or "/login"; * at the end stands for every path that begins so.',
  }),
  exempt: list(
    z
      .string()
      .max(200)
      .regex(/^\/[\x21-\x7e]*$/, 'must be a path such as /hooks/*'),
    GATE_PATHS_MAX,
  )
    .optional()
    .meta({ description: 'Paths that the gate never holds, besides the default ones.' }),
  challenge_url: z
    .string()
    .max(1_024)
    .regex(/^(?:https?:\/\/[\x21-\x7e]+|\/[\x21-\x7e]*)$/, 'must be an absolute URL or a path')
    .optional()
    .meta({
      description: 'Where the gate sends a visitor to be challenged. Without it such visitors are let through.',
    }),
})
  .optional()
  .meta({ description: 'What GET /v1/gate does.' });
const challengerScope = { ...part, shifts, event_types: byEventType(partSchema) };
const scope = {
  ...part,
  ...deciding,
  log_requests: logRequests,
  retention,
  rules_trip_factor: rulesTripFactor,
  attributes,
  counters: COUNTERS_SCHEMA,
  gate,
  shifts,
  event_types: byEventType(decidingPartSchema),
};
const version = writtenText(64)
  .optional()
  .meta({ description: 'A name for this version of the file; without one, the start of its SHA-256.' });

export const POLICY_SCHEMA = fields({
  $schema: z.string('must be a text').optional(),
  version,
  ...scope,
  customers: byName(
    customerId,
    fields(scope).meta({ id: 'scope', description: 'Overrides for one customer.' }),
    POLICY_CUSTOMERS_MAX,
  )
    .optional()
    .meta({ description: 'Overrides by customer id.' }),
  challenger: fields({ version, ...challengerScope })
    .optional()
    .meta({
      description:
        'A policy that decides nothing, applied on top of the active one. Where it would decide differently, the decision is copied ' +
        'to the shadow review queue.',
    }),
}).meta({
  title: 'Gatehouse policy file',
  description:
    'All parts are optional. Precedence, from the lowest to the highest: the defaults, the top level, its ' +
    'event type, the customer, the event type of the customer. Objects merge name by name, lists replace.',
});

const bandsPart = z.object({ bands: bandsSchema.optional() });
const bandsScope = z.object({
  bands: bandsSchema.optional(),
  shifts: scope.shifts,
  event_types: byName(eventType, bandsPart, POLICY_EVENT_TYPES_MAX).optional(),
});

/** Only the bands of a file, so that they can be checked even if other parts are wrong. */
export const BANDS_SCHEMA = z.object({
  ...bandsScope.shape,
  customers: byName(customerId, bandsScope, POLICY_CUSTOMERS_MAX).optional(),
  challenger: bandsScope.optional(),
});

export type RawPolicy = z.infer<typeof POLICY_SCHEMA>;
export type RawScope = Pick<RawPolicy, keyof typeof scope>;
export type RawPart = z.infer<typeof decidingPartSchema>;

/** JSON Schema, draft 2020-12. Published as docs/policy.schema.json. */
export function policyJsonSchema(): object {
  return z.toJSONSchema(POLICY_SCHEMA, { target: 'draft-2020-12', io: 'input' });
}
