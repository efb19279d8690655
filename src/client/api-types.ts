// Written from docs/openapi.json by `npm run write:openapi`. Changes here are lost.

export declare namespace Api {
  type Problem = {
    readonly type: string;
    readonly title: string;
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    /** With overloaded: what is full, see docs/overload.md */
    readonly reason?: "capacity" | "customer_share" | "request_ids" | "disk" | "shared_store" | "bodies" | "starting" | "stopping" | "calls" | "searches" | "simulations" | "deliveries" | "delivery_pages" | "sign_ins";
    readonly request_id: string;
    readonly errors?: readonly FieldError[];
    /** Unix seconds; with timestamp_out_of_window */
    readonly server_time?: number;
    /** Seconds; with 429 and 503 */
    readonly retry_after?: number;
  };

  type FieldError = {
    /** RFC 6901; ?name for a query parameter */
    readonly pointer: string;
    readonly code: "required" | "wrong_type" | "invalid_value" | "too_long" | "too_short" | "too_many" | "too_few" | "too_large" | "too_small" | "unknown_path" | "name_collision" | "invalid_schema" | "unsupported_schema" | "unsupported_pattern" | "unknown_fact" | "type_error" | "syntax_error" | "too_costly" | "unknown_connector" | "unknown_operation" | "blocked_url";
    readonly message: string;
    /** In the text of the field; with errors of conditions */
    readonly line?: number;
    readonly column?: number;
    readonly did_you_mean?: string;
  };

  type IgnoredMembers = {
    /** Members of the request that were ignored, the first 32; absent without any */
    readonly warnings?: readonly {
      /** RFC 6901 pointer into the request body */
      readonly pointer: string;
      readonly code: "unknown_field";
      /** The nearest name that is read there */
      readonly did_you_mean?: string;
    }[];
  };

  /**
   * At most 32 levels deep, no duplicate names at the top level. In a body with more than 512 names and texts, the first
   * 256 of each field count. null means absent; unknown fields are ignored.
   */
  type DecideRequest = {
    /** Without a token the decision is SOFT_CHALLENGE at once. */
    readonly session_token?: string | null;
    /** login, signup, checkout, payment, search or any other text; case-insensitive. */
    readonly event_type?: string | null;
    /** The client's address. An invalid address is not an error. */
    readonly ip?: string | null;
    /** The first 1,024 characters count. */
    readonly user_agent?: string | null;
    /** URL of the page; the first 4,096 characters count. */
    readonly url?: string | null;
    /** URL of the previous page; the first 4,096 characters count. */
    readonly referrer?: string | null;
    /** The first 32 entries count, with names of up to 64 and values of up to 256 characters. */
    readonly entity_keys?: { readonly [name: string]: string | number | null } | null;
    /** The client's headers; the first 64 count. TLS fingerprints: x-svc-ja3, x-svc-ja4. */
    readonly headers?: { readonly [name: string]: string | number | readonly string[] | null } | null;
    /**
     * What you know besides, for rules of your own: at most 32. Types are those that the policy declares; another type
     * counts as absent.
     */
    readonly attributes?: { readonly [name: string]: string | number | boolean | readonly string[] | null } | null;
    /**
     * The request of a visitor that signs it (Web Bot Auth, RFC 9421, Ed25519). Header fields that the signature covers are
     * read from headers. Never an error: what does not verify is not verified.
     */
    readonly http_signature?: {
      /** Signature-Input, as the visitor sent it; at most 2,048 characters. */
      readonly signature_input?: string | null;
      /** Signature; at most 1,024 characters. */
      readonly signature?: string | null;
      /** Signature-Agent, in either form; at most 512 characters. */
      readonly signature_agent?: string | null;
      readonly method?: string | null;
      /** Your host that served the request, with a port that is not the default one. Never one that you do not serve. */
      readonly authority?: string | null;
      /** With the query, as in the request line. */
      readonly path?: string | null;
    } | null;
    /** The client's own Unix time; informational. */
    readonly timestamp?: number | null;
    /**
     * The outcome of the action, for callers that request a decision afterwards. Any other text gives 400. In a request
     * with a public key it is validated but not counted.
     */
    readonly outcome?: "succeeded" | "failed" | "declined" | "challenge_passed" | "challenge_failed" | null;
  };

  type Decision = {
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    readonly review_hint: string;
    readonly session_mode: "full" | "unverified" | "degraded" | "no_session";
    readonly shadow_routed: boolean;
    readonly latency_ms: number;
    /** The key of list entries. Absent without a session token. */
    readonly fingerprint_hash?: string;
  };

  type Simulation = {
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    readonly review_hint: string;
    readonly session_mode: "full" | "unverified" | "degraded" | "no_session";
    readonly shadow_routed: boolean;
    readonly latency_ms: number;
    /** null without a session token */
    readonly fingerprint_hash: string | null;
    /** Canonical form; null if no valid address was given */
    readonly ip: string | null;
    /** Country of the IP address */
    readonly country: string | null;
    /** In lower case; empty if none was given */
    readonly event_type: string;
    /** Unix seconds */
    readonly occurred_at: number;
    /** In the order of the reasons */
    readonly contributions: readonly {
      readonly reason: string;
      /** Only the largest weight of a family counts; unknown for a reason of another version */
      readonly family: string;
      readonly weight: number;
      /** What the rule found; may contain part of the client's own text */
      readonly evidence: string;
      /** The decision that a rule of your own asks for; its weight is 0 */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      /** A rule of your own in mode observe: it changed nothing, and is not in reasons */
      readonly observed?: true;
      /** It has the largest weight of its family */
      readonly counts: boolean;
      /**
       * The score and the decision without this reason, everything else unchanged. The decision is null if the bands are
       * unknown; null for a reason without which the rules would have run
       */
      readonly without: {
        readonly score: number;
        readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      } | null;
    }[];
    /** Path of the URL without its query, up to 100 characters. null also in decisions of older builds */
    readonly path: string | null;
    /** The /24 or /48 of the address */
    readonly network: string | null;
    readonly agent: {
      readonly browser: string;
      readonly system: string;
      readonly form: string;
      /** none, bot, http_library, headless or ai */
      readonly automation: string;
      /** The crawler that the user agent names; null for none */
      readonly claimed: string | null;
      /**
       * range: the address is one that the operator publishes. dns: the name of the address is the operator’s, and leads
       * back. signature: the request is signed with its key. none: neither. null: no crawler is named, nothing is known of
       * its operator’s addresses, or the request was signed with a public key
       */
      readonly verified: "none" | "range" | "dns" | "signature" | null;
      readonly operator: string | null;
      readonly purpose: "search" | "ai_training" | "ai_user" | "monitor" | "preview" | "shopping" | null;
    } | null;
    readonly location: {
      /** Rounded to a tenth of a degree */
      readonly latitude: number;
      readonly longitude: number;
      readonly accuracy_km: number | null;
    } | null;
    /** What it may have in common with other decisions. An id is a value for GET /v1/links */
    readonly links: readonly {
      readonly kind: string;
      readonly id: string;
    }[];
    /** Steps from 0 to the score, the largest weight first */
    readonly families: readonly {
      readonly family: string;
      /** The reason that counts */
      readonly reason: string;
      readonly from: number;
      readonly to: number;
    }[];
    /** The reason that made the decision whatever the score is */
    readonly overridden_by: "list_block" | "list_allow" | "missing_session_token" | "test_input" | null;
    /** null if that policy is no longer known */
    readonly policy_version: string | null;
    /** The bands that applied to this event type; null if that policy is no longer known */
    readonly bands: Bands | null;
    /**
     * What the rules read of the request, by name: its token, address, agent, headers and history. 0 is "no" or "not
     * known". null if they were not kept: for an ALLOW outside of the sample, without a session token, and for decisions of
     * older builds
     */
    readonly signals: { readonly [name: string]: number } | null;
    /** As given in the request itself */
    readonly outcome: "succeeded" | "failed" | "declined" | "challenge_passed" | "challenge_failed" | null;
  };

  /** The lowest score of each decision; REVIEW is null if no score leads to it */
  type Bands = {
    readonly ALLOW_WATCH: number;
    readonly SOFT_CHALLENGE: number;
    readonly REVIEW: number | null;
    readonly BLOCK: number;
  };

  type Me = {
    readonly customer_id: string;
    readonly name: string;
    readonly created_at: number;
    /** The first 12 characters of the key */
    readonly key_prefix: string;
    readonly key_kind: "secret" | "public";
    /** A test key, whose data is apart from that of live keys */
    readonly test: boolean;
    /** What the key may do */
    readonly scopes: readonly ("gate" | "decide" | "read" | "write" | "admin")[];
    /** Decide calls in a minute */
    readonly rate_limit: number;
    /** Other calls in a minute */
    readonly management_rate_limit: number;
    readonly policy: {
      readonly version: string;
      /** Of event types without a mode of their own */
      readonly mode: "enforce" | "observe";
      /** Version of the challenger's policy */
      readonly challenger: string | null;
    };
    readonly service_version: string;
    readonly server_time: number;
  };

  type ApiKeyPage = {
    readonly data: readonly ApiKey[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type ApiKey = {
    /** The first 12 characters of the key */
    readonly prefix: string;
    /** Empty for a key without a name */
    readonly name: string;
    readonly kind: "secret" | "public";
    /** A test key, whose data is apart from that of live keys */
    readonly test: boolean;
    /** What the key may do */
    readonly scopes: readonly ("gate" | "decide" | "read" | "write" | "admin")[];
    /** The key may be used from these only; empty for every address */
    readonly networks: readonly string[];
    readonly created_at: number;
    /** The key is unknown from then on; null for ever */
    readonly expires_at: number | null;
    readonly revoked_at: number | null;
    /** Prefix of the key that replaces this one, which is valid until `expires_at` */
    readonly replaced_by: string | null;
    /** Decide calls in a minute */
    readonly rate_limit: number;
    /** Origins whose scripts may use the key */
    readonly origins: readonly string[];
    /** This call was made with it */
    readonly is_current: boolean;
    readonly usage: {
      /** Counted from then on: at most 24 hours ago, and never before the last start */
      readonly since: number;
      /** Accepted calls, decide and others */
      readonly calls: number;
      /** Refused calls of this key, by problem code */
      readonly refusals: { readonly [name: string]: number };
      /** Last accepted call; null if none since the last start */
      readonly last_used_at: number | null;
    };
  };

  type NewKey = {
    readonly name: string;
    /** By default those of the calling key, without gate */
    readonly scopes?: readonly ("gate" | "decide" | "read" | "write" | "admin")[] | null;
    /** Unix seconds, in the future; the key is unknown from then on. By default as the calling key */
    readonly expires_at?: number | null;
    /** Addresses and networks (CIDR) that the key may be used from. By default as the calling key */
    readonly networks?: readonly string[] | null;
    /** The scope gate alone */
    readonly gate?: boolean | null;
    /** A test key, sk_test_…. A test key makes test keys only */
    readonly test?: boolean | null;
  };

  type NewApiKey = {
    /** The first 12 characters of the key */
    readonly prefix: string;
    readonly name: string;
    /** A test key, whose data is apart from that of live keys */
    readonly test: boolean;
    /** What the key may do */
    readonly scopes: readonly ("gate" | "decide" | "read" | "write" | "admin")[];
    /** The key may be used from these only; empty for every address */
    readonly networks: readonly string[];
    /** The key is unknown from then on; null for ever */
    readonly expires_at: number | null;
    /** Absent when a public key was replaced */
    readonly secret_key?: string;
    /** With the scope decide only */
    readonly public_key?: string;
  };

  type KeyRotation = {
    /** How long the old key stays valid */
    readonly grace_seconds?: number | null;
  };

  type LoggedDecisionPage = {
    readonly data: readonly LoggedDecision[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type LoggedDecision = {
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    readonly review_hint: string;
    readonly session_mode: "full" | "unverified" | "degraded" | "no_session";
    readonly shadow_routed: boolean;
    readonly latency_ms: number;
    /** null without a session token */
    readonly fingerprint_hash: string | null;
    /** Canonical form; null if no valid address was given */
    readonly ip: string | null;
    /** Country of the IP address */
    readonly country: string | null;
    /** In lower case; empty if none was given */
    readonly event_type: string;
    /** Unix seconds */
    readonly occurred_at: number;
    /** In the order of the reasons */
    readonly contributions: readonly {
      readonly reason: string;
      /** Only the largest weight of a family counts; unknown for a reason of another version */
      readonly family: string;
      readonly weight: number;
      /** What the rule found; may contain part of the client's own text */
      readonly evidence: string;
      /** The decision that a rule of your own asks for; its weight is 0 */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      /** A rule of your own in mode observe: it changed nothing, and is not in reasons */
      readonly observed?: true;
    }[];
    /** Path of the URL without its query, up to 100 characters. null also in decisions of older builds */
    readonly path: string | null;
    /** The /24 or /48 of the address */
    readonly network: string | null;
    readonly agent: {
      readonly browser: string;
      readonly system: string;
      readonly form: string;
      /** none, bot, http_library, headless or ai */
      readonly automation: string;
      /** The crawler that the user agent names; null for none */
      readonly claimed: string | null;
      /**
       * range: the address is one that the operator publishes. dns: the name of the address is the operator’s, and leads
       * back. signature: the request is signed with its key. none: neither. null: no crawler is named, nothing is known of
       * its operator’s addresses, or the request was signed with a public key
       */
      readonly verified: "none" | "range" | "dns" | "signature" | null;
      readonly operator: string | null;
      readonly purpose: "search" | "ai_training" | "ai_user" | "monitor" | "preview" | "shopping" | null;
    } | null;
    readonly location: {
      /** Rounded to a tenth of a degree */
      readonly latitude: number;
      readonly longitude: number;
      readonly accuracy_km: number | null;
    } | null;
    /** What it may have in common with other decisions. An id is a value for GET /v1/links */
    readonly links: readonly {
      readonly kind: string;
      readonly id: string;
    }[];
    /** The label set by POST /v1/labels */
    readonly label: "fraud" | "legitimate" | null;
  };

  type ExplainedDecision = {
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    readonly review_hint: string;
    readonly session_mode: "full" | "unverified" | "degraded" | "no_session";
    readonly shadow_routed: boolean;
    readonly latency_ms: number;
    /** null without a session token */
    readonly fingerprint_hash: string | null;
    /** Canonical form; null if no valid address was given */
    readonly ip: string | null;
    /** Country of the IP address */
    readonly country: string | null;
    /** In lower case; empty if none was given */
    readonly event_type: string;
    /** Unix seconds */
    readonly occurred_at: number;
    /** In the order of the reasons */
    readonly contributions: readonly {
      readonly reason: string;
      /** Only the largest weight of a family counts; unknown for a reason of another version */
      readonly family: string;
      readonly weight: number;
      /** What the rule found; may contain part of the client's own text */
      readonly evidence: string;
      /** The decision that a rule of your own asks for; its weight is 0 */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      /** A rule of your own in mode observe: it changed nothing, and is not in reasons */
      readonly observed?: true;
      /** It has the largest weight of its family */
      readonly counts: boolean;
      /**
       * The score and the decision without this reason, everything else unchanged. The decision is null if the bands are
       * unknown; null for a reason without which the rules would have run
       */
      readonly without: {
        readonly score: number;
        readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      } | null;
    }[];
    /** Path of the URL without its query, up to 100 characters. null also in decisions of older builds */
    readonly path: string | null;
    /** The /24 or /48 of the address */
    readonly network: string | null;
    readonly agent: {
      readonly browser: string;
      readonly system: string;
      readonly form: string;
      /** none, bot, http_library, headless or ai */
      readonly automation: string;
      /** The crawler that the user agent names; null for none */
      readonly claimed: string | null;
      /**
       * range: the address is one that the operator publishes. dns: the name of the address is the operator’s, and leads
       * back. signature: the request is signed with its key. none: neither. null: no crawler is named, nothing is known of
       * its operator’s addresses, or the request was signed with a public key
       */
      readonly verified: "none" | "range" | "dns" | "signature" | null;
      readonly operator: string | null;
      readonly purpose: "search" | "ai_training" | "ai_user" | "monitor" | "preview" | "shopping" | null;
    } | null;
    readonly location: {
      /** Rounded to a tenth of a degree */
      readonly latitude: number;
      readonly longitude: number;
      readonly accuracy_km: number | null;
    } | null;
    /** What it may have in common with other decisions. An id is a value for GET /v1/links */
    readonly links: readonly {
      readonly kind: string;
      readonly id: string;
    }[];
    /** The label set by POST /v1/labels */
    readonly label: "fraud" | "legitimate" | null;
    /** Steps from 0 to the score, the largest weight first */
    readonly families: readonly {
      readonly family: string;
      /** The reason that counts */
      readonly reason: string;
      readonly from: number;
      readonly to: number;
    }[];
    /** The reason that made the decision whatever the score is */
    readonly overridden_by: "list_block" | "list_allow" | "missing_session_token" | "test_input" | null;
    /** null if that policy is no longer known */
    readonly policy_version: string | null;
    /** The bands that applied to this event type; null if that policy is no longer known */
    readonly bands: Bands | null;
    /**
     * What the rules read of the request, by name: its token, address, agent, headers and history. 0 is "no" or "not
     * known". null if they were not kept: for an ALLOW outside of the sample, without a session token, and for decisions of
     * older builds
     */
    readonly signals: { readonly [name: string]: number } | null;
    /** As given in the request itself */
    readonly outcome: "succeeded" | "failed" | "declined" | "challenge_passed" | "challenge_failed" | null;
  };

  type PersonExplanation = {
    readonly request_id: string;
    readonly lang: "en" | "de" | "fr" | "es";
    readonly occurred_at: number;
    /** A sentence */
    readonly decision: string;
    /** Sentences, the most important first */
    readonly reasons: readonly string[];
  };

  type LinkSummary = {
    readonly kind: string;
    readonly decisions: number;
    /** BLOCK */
    readonly blocked: number;
    /** SOFT_CHALLENGE */
    readonly challenged: number;
    /** null without a decision */
    readonly first_seen: number | null;
    readonly last_seen: number | null;
    /** There are older decisions, which are not counted */
    readonly truncated: boolean;
    readonly neighbours: readonly {
      readonly kind: string;
      /** Can be used as a value: the value itself, or hash: and 16 hex digits */
      readonly id: string;
      readonly count: number;
      /** The most severe decision */
      readonly worst: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly last_seen: number;
    }[];
  };

  type Fingerprint = {
    /** null if no decision is left */
    readonly first_seen: number | null;
    readonly last_seen: number | null;
    /** Distinct values of the last 24 hours */
    readonly day: {
      readonly sessions: number;
      /** Of the name in entity_keys with the most: a user id and an e-mail address are often one person */
      readonly identities: number;
      readonly addresses: number;
      /** /24 or /48 */
      readonly networks: number;
      readonly countries: number;
      readonly decisions: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
    };
    /** Distinct values of the last 30 days */
    readonly month: {
      readonly sessions: number;
      /** Of the name in entity_keys with the most: a user id and an e-mail address are often one person */
      readonly identities: number;
      readonly addresses: number;
      /** /24 or /48 */
      readonly networks: number;
      readonly countries: number;
      readonly decisions: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
    };
    /** There are older decisions, which are not counted */
    readonly truncated: boolean;
    /** It comes from too many networks for one device */
    readonly common: boolean;
    readonly list_action: "block" | "allow" | "watch" | null;
    readonly shared_registry?: SharedRegistry;
  };

  /** Present only if the shared registry knows the fingerprint and it is not common in the caller's traffic */
  type SharedRegistry = {
    readonly risk_score: number;
    /** If the entry comes from customers: 3, 5 or 10 (10 or more), one day late */
    readonly customers_seen: number;
  };

  type Stats = {
    readonly from: number;
    readonly to: number;
    /** Seconds */
    readonly step: number;
    /** Over 80 % of the decisions of this hour or the last one carry one address, or no public one; absent otherwise */
    readonly address_warning?: "one_address" | "no_public_address";
    /** In the order of time; periods in which nothing happened are absent */
    readonly points: readonly {
      /** Start of the period, a multiple of step */
      readonly at: number;
      readonly decisions: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      /** Decisions by event type; more than 16 in a period count as other */
      readonly event_types: { readonly [name: string]: number };
      /** Decisions by reason */
      readonly reasons: { readonly [name: string]: number };
      /** Decisions by score, in 20 buckets of 5 points; the last one includes 100 */
      readonly scores: readonly number[];
      /** Accurate to a tenth; null without a decision */
      readonly latency_ms: {
        readonly p50: number | null;
        readonly p99: number | null;
      };
      /** Requests without a decision, by problem code */
      readonly refusals: { readonly [name: string]: number };
    }[];
  };

  type Top = {
    readonly by: string;
    readonly count: string;
    readonly from: number;
    readonly to: number;
    /** Number of examined decisions */
    readonly decisions: number;
    /** There are older decisions in the range */
    readonly is_truncated: boolean;
    /** The ten with the largest count; by crawler all, each once for each way in which it was verified */
    readonly rows: readonly {
      /** A kind of link, reason, country, crawler or event_type */
      readonly kind: string;
      /** A value for GET /v1/links if the kind is one of a link */
      readonly id: string;
      readonly count: number;
      readonly decisions: number;
      /** SOFT_CHALLENGE */
      readonly challenged: number;
      /** BLOCK */
      readonly blocked: number;
      readonly worst: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly last_seen: number;
      /**
       * range: the address is one that the operator publishes. dns: the name of the address is the operator’s, and leads
       * back. signature: the request is signed with its key. none: neither. null: no crawler is named, nothing is known of
       * its operator’s addresses, or the request was signed with a public key
       */
      readonly verified?: "none" | "range" | "dns" | "signature" | null;
      readonly operator?: string | null;
      readonly purpose?: "search" | "ai_training" | "ai_user" | "monitor" | "preview" | "shopping" | null;
    }[];
  };

  type Policy = {
    readonly version: string;
    readonly source: "file" | "default";
    readonly loaded_at: number;
    /** The present policy file is faulty; the last valid one applies */
    readonly is_refused: boolean;
    readonly mode: "enforce" | "observe";
    /** Of event types that are not in event_types */
    readonly bands: Bands;
    readonly event_types: readonly {
      readonly event_type: string;
      readonly mode: "enforce" | "observe";
      readonly bands: Bands;
    }[];
    /** required: a token without a grant is evidence */
    readonly grant: "optional" | "required";
    readonly sample_rate: number;
    readonly log_identities: "none" | "hashed" | "masked" | "plain";
    /** Days for which requests are kept for backtests; 0: not at all */
    readonly log_requests_days: number;
    /** Seconds for which rows about people are kept, by class */
    readonly retention: {
      readonly allow: number;
      readonly flagged: number;
      readonly labels: number;
      readonly audit: number;
      readonly requests: number;
      readonly features: number;
    };
    readonly rules: readonly {
      readonly reason: string;
      /** For people, at most 32 characters */
      readonly title: string;
      readonly family: string;
      readonly enabled: boolean;
      /** The largest weight of its levels */
      readonly weight: number;
      /** Level → weight; `default` is the rule without one */
      readonly levels: { readonly [name: string]: number };
      readonly thresholds: { readonly [name: string]: number };
      /** Differs from the rule's own settings */
      readonly is_changed: boolean;
      /** Event types for which the rule has other settings */
      readonly event_types: readonly {
        readonly event_type: string;
        readonly enabled: boolean;
        /** The largest weight of its levels */
        readonly weight: number;
        /** Level → weight; `default` is the rule without one */
        readonly levels: { readonly [name: string]: number };
        readonly thresholds: { readonly [name: string]: number };
      }[];
      /** What the rule found, as in review_hint */
      readonly sentence: string;
      /** Empty if nothing does */
      readonly what_quiets_it: string;
    }[];
    readonly challenger: {
      readonly version: string;
      /** At most 200 */
      readonly differences: readonly PolicyDifference[];
      readonly is_truncated: boolean;
    } | null;
  };

  type PolicyDifference = {
    /** null: event types without settings of their own */
    readonly event_type: string | null;
    readonly kind: "band" | "weight" | "threshold" | "rule" | "setting";
    /** A decision; a weight or a threshold of a rule; a rule, of which true is on; or another setting */
    readonly name: string;
    readonly before: string | number | boolean | null;
    readonly after: string | number | boolean | null;
  };

  type PolicyHistory = {
    /** Newest first; the first one applies */
    readonly data: readonly {
      /** When it was loaded */
      readonly at: number;
      readonly version: string;
      readonly source: "file" | "default";
      /** From the policy before it; null for the first one that is kept */
      readonly differences: readonly PolicyDifference[] | null;
      /** There are more differences */
      readonly is_truncated: boolean;
    }[];
  };

  type RuleCounts = {
    readonly from: number;
    readonly to: number;
    /** Decisions that were read for decisive, alone, labels and verdicts; hits cover the range */
    readonly examined: {
      readonly decisions: number;
      readonly flagged: number;
      /** Time of the oldest examined decision */
      readonly since: number | null;
      /** There are older decisions in the range */
      readonly is_truncated: boolean;
    };
    /** Rules that hit, the most frequent first */
    readonly rules: readonly {
      readonly reason: string;
      readonly family: string;
      /** Decisions with the reason, by the statistics: whole hours of the range */
      readonly hits: number;
      /** Examined decisions that would be milder without it */
      readonly decisive: number;
      /** Those of which it is the only reason */
      readonly alone: number;
      readonly labels: {
        readonly fraud: number;
        readonly legitimate: number;
      };
      readonly verdicts: {
        readonly fraud: number;
        readonly legitimate: number;
        readonly unsure: number;
      };
      /** Share of fraud among its labels and verdicts, a label counting before a verdict; null without one */
      readonly precision: number | null;
    }[];
  };

  type ChallengerCounts = {
    readonly active: string;
    /** Its version; null without a challenger */
    readonly challenger: string | null;
    /** Both apply since then; null without a challenger */
    readonly since: number | null;
    /** Decisions that both made, of the newest 100,000 */
    readonly decisions: number;
    readonly is_truncated: boolean;
    /** Decisions on which they differ */
    readonly moved: number;
    /** Decision made → decision of the challenger → count */
    readonly matrix: {
      readonly ALLOW: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly ALLOW_WATCH: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly SOFT_CHALLENGE: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly REVIEW: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly BLOCK: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
    };
    /** Cells outside of the diagonal with a count, the largest first */
    readonly cells: readonly {
      readonly from: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly to: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly count: number;
      /** The newest, at most 20 */
      readonly examples: readonly {
        readonly request_id: string;
        readonly score: number;
        readonly event_type: string;
        readonly occurred_at: number;
        readonly reasons: readonly string[];
      }[];
    }[];
  };

  /** At least one of policy and rules is given. */
  type Backtest = {
    /** The content of a policy file. Without it the present one */
    readonly policy?: { readonly [name: string]: unknown } | null;
    /** Instead of the rules that you wrote over the API. Without it these */
    readonly rules?: readonly {
      /** A condition */
      readonly when: string;
      /** Joins the score, in the family own */
      readonly weight?: number | null;
      /** The mildest decision while the rule fires */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      readonly mode?: "observe" | "enforce";
      /** Only for these; null for all */
      readonly event_types?: readonly string[] | null;
      readonly note?: string | null;
      /** Unix seconds; null for ever */
      readonly expires_at?: number | null;
      /**
       * What it did in a backtest; the circuit breaker compares with it. Without it, what it did while it was observed with
       * this condition; null: no circuit breaker
       */
      readonly predicted?: {
        readonly touched: number;
        readonly decisions: number;
      } | null;
      readonly code: string;
    }[] | null;
    /** Decisions from then on count; Unix seconds */
    readonly since: number;
    /** Only decisions before then */
    readonly until?: number | null;
  };

  type BacktestStarted = {
    readonly id: string;
    readonly status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  };

  type BacktestJob = {
    readonly id: string;
    readonly status: "queued" | "running" | "succeeded" | "failed" | "cancelled";
    readonly progress: number;
    /** Requests that were decided again so far */
    readonly replayed: number;
    /** Why it failed */
    readonly detail?: string;
    /** features: no requests are logged, so the result is an approximation. With all that follows, when it has ended */
    readonly source?: "requests" | "features";
    readonly facts_missing?: readonly string[];
    readonly events?: number;
    /** Decision before → decision after → events */
    readonly matrix?: {
      readonly ALLOW: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly ALLOW_WATCH: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly SOFT_CHALLENGE: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly REVIEW: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
      readonly BLOCK: {
        readonly ALLOW: number;
        readonly ALLOW_WATCH: number;
        readonly SOFT_CHALLENGE: number;
        readonly REVIEW: number;
        readonly BLOCK: number;
      };
    };
    readonly by_label?: {
      /** Decision before → decision after → events */
      readonly fraud: {
        readonly ALLOW: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly ALLOW_WATCH: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly SOFT_CHALLENGE: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly REVIEW: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly BLOCK: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
      };
      /** Decision before → decision after → events */
      readonly legitimate: {
        readonly ALLOW: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly ALLOW_WATCH: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly SOFT_CHALLENGE: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly REVIEW: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
        readonly BLOCK: {
          readonly ALLOW: number;
          readonly ALLOW_WATCH: number;
          readonly SOFT_CHALLENGE: number;
          readonly REVIEW: number;
          readonly BLOCK: number;
        };
      };
    };
    readonly people_touched?: number;
    /** What each own rule after the change fired on, of decisions with a secret key; empty for features */
    readonly rules?: readonly {
      readonly code: string;
      readonly touched: number;
      readonly decisions: number;
    }[];
    /** At most 20 decisions that change */
    readonly examples?: readonly {
      readonly request_id: string;
      readonly before: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly after: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      readonly reasons: readonly string[];
    }[];
    /** Decisions under the present policy against those that were made; null of an approximation */
    readonly recorded?: {
      readonly same: number;
      readonly different: number;
    } | null;
    /** The first logged request, ISO 8601 */
    readonly log_from?: string | null;
    /** Parts of the log that could not be read */
    readonly damaged?: readonly {
      readonly file: string;
      readonly fromByte: number;
      readonly toByte: number;
    }[];
  };

  type RuleCheck = {
    /** A condition */
    readonly when: string;
    /** Also evaluate it on the newest 1,000 decisions */
    readonly sample?: boolean | null;
    /** Only for these; null for all */
    readonly event_types?: readonly string[] | null;
  };

  /** Exactly one of weight and decision is given. */
  type RulePut = {
    /** A condition */
    readonly when: string;
    /** Joins the score, in the family own */
    readonly weight?: number | null;
    /** The mildest decision while the rule fires */
    readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
    readonly mode?: "observe" | "enforce";
    /** Only for these; null for all */
    readonly event_types?: readonly string[] | null;
    readonly note?: string | null;
    /** Unix seconds; null for ever */
    readonly expires_at?: number | null;
    /**
     * What it did in a backtest; the circuit breaker compares with it. Without it, what it did while it was observed with
     * this condition; null: no circuit breaker
     */
    readonly predicted?: {
      readonly touched: number;
      readonly decisions: number;
    } | null;
  };

  /** Changes the given fields. A weight replaces the decision, and a decision the weight. */
  type RulePatch = {
    /** A condition */
    readonly when?: string;
    /** Joins the score, in the family own */
    readonly weight?: number | null;
    /** The mildest decision while the rule fires */
    readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
    readonly mode?: "observe" | "enforce";
    /** Only for these; null for all */
    readonly event_types?: readonly string[] | null;
    readonly note?: string | null;
    /** Unix seconds; null for ever */
    readonly expires_at?: number | null;
    /**
     * What it did in a backtest; the circuit breaker compares with it. Without it, what it did while it was observed with
     * this condition; null: no circuit breaker
     */
    readonly predicted?: {
      readonly touched: number;
      readonly decisions: number;
    } | null;
  };

  type ListPage = {
    readonly data: readonly ListEntry[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type ListEntry = {
    /** Lower case. Only of the kinds fingerprint and browser */
    readonly fingerprint_hash?: string;
    /** As in the request */
    readonly kind: string;
    /** In its one form; of an identity that may not be kept `hash:` and 32 digits */
    readonly value: string;
    readonly action: "block" | "allow" | "watch";
    /** The entry counts for events of these types only */
    readonly event_types?: readonly string[];
    readonly note: string | null;
    readonly created_at: number;
    readonly updated_at: number;
    readonly expires_at: number | null;
    readonly shared_registry?: SharedRegistry;
    readonly warning?: ListWarning;
    readonly networks_24h?: ListNetworks;
    readonly day?: DayUsage;
    readonly usage?: ListUsage | null;
  };

  /**
   * Only in responses to writes. common_fingerprint: many networks have this fingerprint, so many devices share it.
   * broad_entry: the entry would have concerned over 1 % of the day's sessions. no_asn_data: no database knows the
   * autonomous systems of addresses
   */
  type ListWarning = "common_fingerprint" | "broad_entry" | "no_asn_data";

  /** Present with warning: number of distinct networks (/24, /48) of the fingerprint in the caller's traffic of 24 h */
  type ListNetworks = number;

  /** Only with usage=true: the caller's own decisions of the last 24 hours with the fingerprint */
  type DayUsage = {
    readonly decisions: number;
    readonly sessions: number;
    /** Of the name in entity_keys with the most: a user id and an e-mail address are often one person */
    readonly identities: number;
    readonly addresses: number;
    /** /24 or /48 */
    readonly networks: number;
    /** null without a decision in these 24 hours */
    readonly last_seen: number | null;
    /** Only the newest 100,000 decisions were counted */
    readonly is_truncated: boolean;
  };

  /**
   * Only in responses to writes: what the entry would have concerned in the last 24 hours, of the newest 100,000 decisions;
   * null for browser, email_domain and user_agent, which decisions do not keep
   */
  type ListUsage = {
    readonly sessions_24h: number;
    /** Of the name in entity_keys with the most: a user id and an e-mail address are often one person */
    readonly identities_24h: number;
    /** Decisions other than ALLOW */
    readonly flagged_24h: number;
  };

  type ListChange = {
    /** Upper or lower case. Instead of kind and value: a fingerprint, or the hash of a browser id */
    readonly fingerprint_hash?: string;
    /**
     * One of fingerprint, browser, ip, network, asn, country, email, email_domain, user_agent, or entity.<name> for
     * identities of that name
     */
    readonly kind?: string;
    /** A value of the kind, in any of its spellings */
    readonly value?: string | number;
    readonly action: "block" | "allow" | "watch";
    readonly note?: string | null;
    /** Unix seconds, in the future; the entry ends at that second */
    readonly expires_at?: number | null;
    /** The entry counts for events of these types only; for all without any */
    readonly event_types?: readonly string[] | null;
    /** Writes an entry that would have concerned over 25 % of the day's sessions */
    readonly confirm?: boolean | null;
  };

  type ListBatchResult = {
    /** Nothing was written */
    readonly dry_run?: true;
    readonly results: readonly {
      readonly fingerprint_hash?: string | null;
      readonly kind?: string;
      readonly value?: string | null;
      readonly status: 200 | 201 | 422;
      readonly code?: "validation_failed";
      readonly warning?: ListWarning;
      readonly networks_24h?: ListNetworks;
      readonly usage?: ListUsage | null;
      /** Only with dry_run=true: what the write would do */
      readonly change?: "created" | "replaced" | "unchanged";
      /** Only with dry_run=true: the action of the entry that would be replaced; null without one */
      readonly before?: "block" | "allow" | "watch" | null;
      readonly errors?: readonly FieldError[];
    }[];
  };

  type CandidatePage = {
    readonly data: readonly Candidate[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  /** A fingerprint, with its newest matching decision */
  type Candidate = {
    readonly fingerprint_hash: string;
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    /** Canonical form; null if no valid address was given */
    readonly ip: string | null;
    /** Country of the IP address */
    readonly country: string | null;
    /** In lower case; empty if none was given */
    readonly event_type: string;
    /** Unix seconds */
    readonly occurred_at: number;
    /** Number of matching decisions with this fingerprint among the examined ones */
    readonly sessions: number;
    /** Action of the caller's own entry for the fingerprint */
    readonly list_action: "block" | "allow" | "watch" | null;
    readonly shared_registry?: SharedRegistry;
    readonly day?: DayUsage;
  };

  type NamedList = {
    /** In conditions list.<name> */
    readonly name: string;
    /** As in the request */
    readonly kind: string;
    readonly note: string | null;
    /** With items that have ended and were not removed yet */
    readonly items: number;
    /** Codes of the rules that name it: of the API, of the policy file and of its challenger */
    readonly used_by: readonly string[];
    readonly created_at: number;
    readonly updated_at: number;
  };

  type NamedListPut = {
    /**
     * One of fingerprint, browser, ip, network, asn, country, email, email_domain, user_agent, text, or entity.<name>. It
     * stays
     */
    readonly kind: string;
    readonly note?: string | null;
  };

  type NamedItemPage = {
    readonly data: readonly NamedItem[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type NamedItem = {
    /** In its one form; of an identity that may not be kept `hash:` and 32 digits */
    readonly value: string;
    readonly created_at: number;
    readonly expires_at: number | null;
  };

  /** At most 10000 items in all. */
  type NamedItemsChange = {
    /** With expires_at (Unix seconds) an item ends at that second */
    readonly add?: readonly (string | number | {
      /** A value of the kind */
      readonly value: string | number;
      readonly expires_at?: number | null;
    })[] | null;
    /** As written, or as shown. A value in both is added */
    readonly remove?: readonly (string | number)[] | null;
    /** The same in several calls that follow each other: they make one version of the list */
    readonly import?: string | null;
  };

  type NamedListVersion = {
    /** The list as it was before a write, numbered by writes */
    readonly version: number;
    /** When that write began */
    readonly replaced_at: number;
    /** Who wrote, as in the audit log */
    readonly replaced_by: string;
    /** Items that the write added */
    readonly added: number;
    /** Items that it removed */
    readonly removed: number;
    readonly restorable: boolean;
    /**
     * Why it cannot be brought back: its write or a later one replaced too much (16 MiB), or there was no room (64 MiB of
     * all lists)
     */
    readonly reason: "too_large" | "no_room" | null;
  };

  type NamedListRestore = {
    /** A version that GET …/versions shows */
    readonly version: number;
  };

  type OutcomeReport = {
    /** The request_id of a decide response. */
    readonly request_id: string;
    /** One of the known outcomes; any other text is rejected with `invalid_outcome`. */
    readonly outcome: string;
  };

  type OutcomeBatch = {
    readonly outcomes: readonly OutcomeReport[];
  };

  type OutcomeResult = {
    readonly accepted: number;
    readonly rejected: readonly {
      /** Index of the report in the request, from 0. */
      readonly index: number;
      /** `unknown_request`: not a decision of this customer, or older than 24 hours. */
      readonly code: "unknown_request" | "invalid_outcome";
    }[];
  };

  type LabelChange = {
    /** The request_id of one of your own decisions */
    readonly request_id: string;
    readonly label: "fraud" | "legitimate";
    readonly note?: string | null;
  };

  type Label = {
    readonly request_id: string;
    readonly label: "fraud" | "legitimate";
    readonly note: string | null;
    /** Unix seconds */
    readonly created_at: number;
  };

  type ShadowReviewPage = {
    readonly data: readonly ShadowReview[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type ShadowReview = {
    readonly request_id: string;
    readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    /** In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise. */
    readonly would_be?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
    readonly score: number;
    readonly reasons: readonly string[];
    /**
     * `sample`: part of the deterministic sample. `near_block`: at most 3 points below BLOCK. `challenger`: a shadow policy
     * gives another band, or a shadow model would stop what passed or finds no fraud in what was stopped. `review`: a
     * REVIEW to which none of these applies
     */
    readonly why: "sample" | "near_block" | "challenger" | "review";
    /** Unix seconds */
    readonly occurred_at: number;
    readonly verdict: "fraud" | "legitimate" | "unsure" | null;
    readonly assignee: string | null;
    readonly note: string | null;
    /** When it was closed without a verdict, Unix seconds */
    readonly closed_at: number | null;
  };

  type ReviewChange = {
    readonly verdict?: "fraud" | "legitimate" | "unsure";
    /** null for nobody */
    readonly assignee?: string | null;
    /** null removes it */
    readonly note?: string | null;
    /** true closes the row without a verdict, false opens it again */
    readonly closed?: boolean;
  };

  type WebhookPage = {
    readonly data: readonly Webhook[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Webhook = {
    readonly id: string;
    readonly url: string;
    readonly event_types: readonly ("ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK")[];
    /** Further events beside decisions */
    readonly events: readonly ("review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes")[];
    readonly description: string | null;
    /** Paused: the webhook receives nothing and is not unhealthy */
    readonly disabled: boolean;
    /** Only decisions for which this is true are delivered */
    readonly filter: string | null;
    /** Why this version cannot read the stored filter; then every decision is delivered. Else null */
    readonly filter_error: string | null;
    /** Extra headers that are sent; each value is masked */
    readonly headers: { readonly [name: string]: string };
    readonly format: "standard" | "slack" | "teams" | "cef" | "ocsf";
    readonly fields: "event" | "full";
    readonly retry: "fast" | "patient";
    /** `whsec_` and the base64 of 32 bytes if it is shown completely; else masked except for its last 4 characters */
    readonly secret: string;
    readonly status: "healthy" | "unhealthy";
    /** Consecutive failed deliveries; 10 make the webhook unhealthy */
    readonly consecutive_failures: number;
    readonly unhealthy_since: number | null;
    /** From this time on the next matching decision is delivered as a probe */
    readonly next_probe_at: number | null;
    readonly last_success_at: number | null;
    readonly last_failure_at: number | null;
    readonly created_at: number;
    readonly updated_at: number;
  };

  type WebhookChange = {
    /** Absolute http or https URL without user info and fragment; its host must be reachable from the internet */
    readonly url: string;
    /** Decisions to send; may be empty if `events` is not */
    readonly event_types: readonly ("ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK")[];
    /** Further events to send, beside decisions */
    readonly events?: readonly ("review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes")[];
    readonly description?: string | null;
    /** Condition in the language of own rules over the facts of an event: only decisions for which it is true are delivered */
    readonly filter?: string | null;
    /**
     * Headers to send beside those of the service, for example `Authorization`: at most 10, values of at most 1,024 visible
     * ASCII characters, stored encrypted and never shown again. Replaces all earlier ones; null or {} removes them
     */
    readonly headers?: { readonly [name: string]: string } | null;
    /** Format of the bodies; `standard` by default */
    readonly format?: "standard" | "slack" | "teams" | "cef" | "ocsf";
    /** In the standard format: `event`, the default, has the six fields of the event, `full` what is known of the decision */
    readonly fields?: "event" | "full";
    /**
     * `fast`, the default: 4 attempts within seconds. `patient`: then 6 more within 35 hours, and nothing is skipped while
     * the endpoint is down
     */
    readonly retry?: "fast" | "patient";
  };

  type DeliveryPage = {
    readonly data: readonly Delivery[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Delivery = {
    /** The same as the header webhook-id of the delivery */
    readonly id: string;
    /** null for the endpoint of an extraction */
    readonly webhook_id: string | null;
    readonly url: string;
    readonly event: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | "extraction.records" | "extraction.completed" | "extraction.failed" | "review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes";
    readonly request_id: string;
    readonly status: "pending" | "succeeded" | "failed" | "skipped";
    readonly trigger: "decision" | "probe" | "test" | "manual" | "extraction" | "event";
    readonly attempt_count: number;
    readonly last_status_code: number | null;
    readonly last_error: "dns_error" | "blocked_address" | "connection_refused" | "connection_reset" | "connect_timeout" | "timeout" | "tls_error" | "redirect_blocked" | "response_too_large" | "http_status" | "gone" | "shutdown" | "unhealthy" | "disabled" | "bad_response" | null;
    readonly created_at: number;
    readonly completed_at: number | null;
    readonly next_attempt_at: number | null;
    readonly attempts: readonly DeliveryAttempt[];
  };

  type DeliveryAttempt = {
    readonly attempt: number;
    readonly started_at: number;
    readonly duration_ms: number;
    readonly status_code: number | null;
    readonly error: "dns_error" | "blocked_address" | "connection_refused" | "connection_reset" | "connect_timeout" | "timeout" | "tls_error" | "redirect_blocked" | "response_too_large" | "http_status" | "gone" | "shutdown" | "unhealthy" | "disabled" | "bad_response" | null;
  };

  type DeliveryDetail = {
    /** The same as the header webhook-id of the delivery */
    readonly id: string;
    /** null for the endpoint of an extraction */
    readonly webhook_id: string | null;
    readonly url: string;
    readonly event: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | "extraction.records" | "extraction.completed" | "extraction.failed" | "review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes";
    readonly request_id: string;
    readonly status: "pending" | "succeeded" | "failed" | "skipped";
    readonly trigger: "decision" | "probe" | "test" | "manual" | "extraction" | "event";
    readonly attempt_count: number;
    readonly last_status_code: number | null;
    readonly last_error: "dns_error" | "blocked_address" | "connection_refused" | "connection_reset" | "connect_timeout" | "timeout" | "tls_error" | "redirect_blocked" | "response_too_large" | "http_status" | "gone" | "shutdown" | "unhealthy" | "disabled" | "bad_response" | null;
    readonly created_at: number;
    readonly completed_at: number | null;
    readonly next_attempt_at: number | null;
    readonly attempts: readonly DeliveryAttempt[];
    /** The body that every attempt sends; null for the records of an extraction, which the job has */
    readonly body: string | null;
  };

  /** Changes the given fields; an empty object changes nothing. The secret is kept. */
  type WebhookPatch = {
    /** Absolute http or https URL without user info and fragment; its host must be reachable from the internet */
    readonly url?: string;
    /** Decisions to send; may be empty if `events` is not */
    readonly event_types?: readonly ("ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK")[];
    /** Further events to send, beside decisions */
    readonly events?: readonly ("review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes")[];
    readonly description?: string | null;
    readonly disabled?: boolean;
    /** Condition in the language of own rules over the facts of an event: only decisions for which it is true are delivered */
    readonly filter?: string | null;
    /**
     * Headers to send beside those of the service, for example `Authorization`: at most 10, values of at most 1,024 visible
     * ASCII characters, stored encrypted and never shown again. Replaces all earlier ones; null or {} removes them
     */
    readonly headers?: { readonly [name: string]: string } | null;
    /** Format of the bodies; `standard` by default */
    readonly format?: "standard" | "slack" | "teams" | "cef" | "ocsf";
    /** In the standard format: `event`, the default, has the six fields of the event, `full` what is known of the decision */
    readonly fields?: "event" | "full";
    /**
     * `fast`, the default: 4 attempts within seconds. `patient`: then 6 more within 35 hours, and nothing is skipped while
     * the endpoint is down
     */
    readonly retry?: "fast" | "patient";
  };

  type Rotation = {
    /** How long the old secret keeps signing; 0 ends all older secrets at once */
    readonly grace_seconds?: number | null;
  };

  type Recovery = {
    /** Unix seconds: decisions of this time and later */
    readonly since: number;
    /** Unix seconds: decisions before this time; now by default */
    readonly until?: number;
  };

  type Recovered = {
    /** Deliveries that were created */
    readonly queued: number;
    /** Matching decisions with a delivery that succeeded or is pending */
    readonly delivered: number;
    /** Matching decisions that a further call would recover */
    readonly left: number;
    /** Set if the log does not reach back to `since`: nothing older is recovered */
    readonly known_since: number | null;
  };

  type ExtractionPage = {
    readonly data: readonly Extraction[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Extraction = {
    readonly id: string;
    readonly status: "queued" | "running" | "succeeded" | "failed";
    readonly connector: string;
    readonly operation: string;
    readonly counts: {
      readonly collected: number;
      readonly target: number;
      readonly pages: number;
      /** Failed fetches, lists that were fetched but could not be read, and dropped records */
      readonly errors: number;
      readonly duplicates: number;
    };
    readonly usage: {
      readonly credits: number;
      readonly tier: "basic" | "standard" | "rendered";
    };
    readonly request_id: string;
    readonly created_at: number;
    readonly started_at: number | null;
    readonly finished_at: number | null;
    readonly expires_at: number | null;
    /** Present only if status is failed */
    readonly failure?: {
      readonly reason: "source_unavailable" | "source_not_found" | "access_denied" | "rate_limited_by_source" | "robots_disallowed" | "login_required" | "session_expired" | "unsupported_content" | "parse_failed" | "schema_mismatch" | "timeout" | "limit_reached" | "cancelled" | "internal_error";
      readonly retryable: boolean;
    };
    /** When a running job continues that is idle because a source asked it to wait, in Unix seconds; null for any other job */
    readonly waiting_until: number | null;
    /** How the result differs from what was requested */
    readonly notes: readonly {
      readonly code: "records_truncated" | "records_dropped" | "list_incomplete" | "page_limit_reached" | "depth_limit_reached";
      readonly message: string;
    }[];
    readonly delivery: {
      readonly type: "store" | "sync" | "webhook" | "destination";
      readonly status: "pending" | "delivered" | "failed";
    };
  };

  type ExtractionRequest = {
    /** An id of the catalogue */
    readonly connector: string;
    /** A name among the connector's operations */
    readonly operation: string;
    /** Must match the operation's input_schema */
    readonly input: { readonly [name: string]: unknown };
    readonly collect?: Collect | null;
    readonly output?: Output | null;
    readonly session?: string | null;
    readonly delivery?: ExtractionDelivery | null;
  };

  type Collect = {
    readonly mode?: "limit" | "all" | null;
    /** Only with the mode limit. The operator may have set a lower maximum */
    readonly limit?: number | null;
  };

  type Output = {
    readonly format?: "json" | "ndjson" | "csv" | null;
    /** Paths such as author.name; by default all fields */
    readonly fields?: readonly string[] | null;
    /** Path → new name */
    readonly rename?: { readonly [name: string]: string } | null;
    readonly flatten?: boolean | null;
    /** JSON Schema that each record must match */
    readonly schema?: { readonly [name: string]: unknown } | null;
    readonly on_invalid?: "drop" | "keep" | "fail" | null;
    readonly csv?: {
      readonly delimiter?: "," | ";" | "\t" | "|" | null;
      readonly bom?: boolean | null;
      readonly header?: boolean | null;
    } | null;
  };

  type ExtractionDelivery = {
    readonly type: "store";
  } | {
    readonly type: "sync";
    readonly wait_seconds?: number | null;
  } | {
    readonly type: "webhook";
    readonly url: string;
    readonly batch_size?: number | null;
    /** `whsec_` and the base64 of 24 to 64 bytes; if absent, a secret is created and shown once */
    readonly secret?: string | null;
  } | {
    readonly type: "destination";
    readonly destination: {
      readonly kind: "s3";
      /** By default Amazon's endpoint of the region */
      readonly endpoint?: string | null;
      readonly bucket: string;
      readonly region?: string | null;
      readonly prefix?: string | null;
      readonly access_key_id: string;
      readonly secret_access_key: string;
    } | {
      readonly kind: "http_put";
      readonly url: string;
    };
  };

  type InlineExtraction = Extraction & {
    readonly records: readonly Record[];
    readonly next_cursor: string | null;
  };

  /** The fields of the operation's record_schema, as shaped by output, and _meta */
  type Record = {
    readonly _meta: {
      readonly id: string;
      readonly source_url: string;
      readonly fetched_at: string;
      readonly seq: number;
      /** Present only if the record was larger than 1 MiB and was truncated */
      readonly truncated?: true;
    };
    readonly [name: string]: unknown;
  };

  type ExtractionCreated = {
    readonly id: string;
    readonly status: "queued" | "running" | "succeeded" | "failed";
    readonly connector: string;
    readonly operation: string;
    readonly request_id: string;
    /** Present only if the service created the webhook's secret, which is not shown anywhere else */
    readonly delivery?: {
      readonly type: "webhook";
      readonly secret: string;
    };
  };

  type RecordPage = {
    readonly records: readonly Record[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type WatchPage = {
    readonly data: readonly Watch[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Watch = {
    readonly id: string;
    readonly name: string | null;
    readonly extraction: { readonly [name: string]: unknown };
    readonly every: string | null;
    readonly cron: string | null;
    readonly key: readonly string[];
    readonly compare: readonly string[] | null;
    readonly emit: readonly ("new" | "changed" | "gone")[];
    readonly paused: boolean;
    readonly status: "waiting" | "running" | "paused";
    /** null while it is paused */
    readonly next_run_at: number | null;
    /** Due times that no run stands for, because the service or an earlier run took longer */
    readonly missed_runs: number;
    /** Whether a complete run has ended since what is compared was set */
    readonly baseline: boolean;
    readonly running: {
      /** Numbers the runs of a watch */
      readonly run: number;
      /** The due time that it stands for; null if it was asked for */
      readonly due_at: number | null;
      readonly started_at: number;
      readonly extraction_id: string | null;
    } | null;
    readonly last_run: {
      /** Numbers the runs of a watch */
      readonly run: number;
      /** The due time that it stands for; null if it was asked for */
      readonly due_at: number | null;
      readonly started_at: number;
      readonly extraction_id: string | null;
      readonly finished_at: number;
      readonly status: "succeeded" | "failed";
      /** Why it failed; null if it succeeded */
      readonly reason: "source_unavailable" | "source_not_found" | "access_denied" | "rate_limited_by_source" | "robots_disallowed" | "login_required" | "session_expired" | "unsupported_content" | "parse_failed" | "schema_mismatch" | "timeout" | "limit_reached" | "cancelled" | "internal_error" | "not_accepted" | "job_removed" | "too_many_records" | null;
      /** Whether the extraction had everything; else no record is counted as absent */
      readonly complete: boolean;
      /**
       * duplicate_key: several records had one key, and the first counted. missing_key: records without a key, or with one
       * of over 512 characters, were left out. selector_drift: nothing is found any more for drifted_fields
       */
      readonly notes: readonly ("duplicate_key" | "missing_key" | "incomplete" | "selector_drift")[];
      /**
       * Fields of page.select and site.select that were null in at most 20 % of the records and now are in at least 60 %,
       * of 10 records or more in both runs; all fields if there is no record any more. Named in each complete run until the
       * field is found again, or the extraction is changed
       */
      readonly drifted_fields: readonly string[];
      readonly records: number;
      readonly new: number;
      readonly changed: number;
      readonly gone: number;
    } | null;
    readonly created_at: number;
    readonly updated_at: number;
  };

  type WatchRequest = {
    readonly name?: string | null;
    /** What each run extracts, as in POST /v1/extractions; without delivery and output.schema */
    readonly extraction: ExtractionRequest;
    /** Minutes, hours or days such as 15m, 6h, 1d; at least 5m. The first run begins at once. This or cron */
    readonly every?: string | null;
    /** Five fields in UTC, such as "0 6 * * MON-FRI"; due times at least 5 minutes apart */
    readonly cron?: string | null;
    /** Paths whose values identify a record, such as ["id"] */
    readonly key: readonly string[];
    /** Paths whose values are compared; by default the whole record */
    readonly compare?: readonly string[] | null;
    /** Kinds of changes that are kept; by default all */
    readonly emit?: readonly ("new" | "changed" | "gone")[] | null;
    readonly paused?: boolean | null;
  };

  type WatchCreated = {
    readonly id: string;
    readonly name: string | null;
    readonly extraction: { readonly [name: string]: unknown };
    readonly every: string | null;
    readonly cron: string | null;
    readonly key: readonly string[];
    readonly compare: readonly string[] | null;
    readonly emit: readonly ("new" | "changed" | "gone")[];
    readonly paused: boolean;
    readonly status: "waiting" | "running" | "paused";
    /** null while it is paused */
    readonly next_run_at: number | null;
    /** Due times that no run stands for, because the service or an earlier run took longer */
    readonly missed_runs: number;
    /** Whether a complete run has ended since what is compared was set */
    readonly baseline: boolean;
    readonly running: {
      /** Numbers the runs of a watch */
      readonly run: number;
      /** The due time that it stands for; null if it was asked for */
      readonly due_at: number | null;
      readonly started_at: number;
      readonly extraction_id: string | null;
    } | null;
    readonly last_run: {
      /** Numbers the runs of a watch */
      readonly run: number;
      /** The due time that it stands for; null if it was asked for */
      readonly due_at: number | null;
      readonly started_at: number;
      readonly extraction_id: string | null;
      readonly finished_at: number;
      readonly status: "succeeded" | "failed";
      /** Why it failed; null if it succeeded */
      readonly reason: "source_unavailable" | "source_not_found" | "access_denied" | "rate_limited_by_source" | "robots_disallowed" | "login_required" | "session_expired" | "unsupported_content" | "parse_failed" | "schema_mismatch" | "timeout" | "limit_reached" | "cancelled" | "internal_error" | "not_accepted" | "job_removed" | "too_many_records" | null;
      /** Whether the extraction had everything; else no record is counted as absent */
      readonly complete: boolean;
      /**
       * duplicate_key: several records had one key, and the first counted. missing_key: records without a key, or with one
       * of over 512 characters, were left out. selector_drift: nothing is found any more for drifted_fields
       */
      readonly notes: readonly ("duplicate_key" | "missing_key" | "incomplete" | "selector_drift")[];
      /**
       * Fields of page.select and site.select that were null in at most 20 % of the records and now are in at least 60 %,
       * of 10 records or more in both runs; all fields if there is no record any more. Named in each complete run until the
       * field is found again, or the extraction is changed
       */
      readonly drifted_fields: readonly string[];
      readonly records: number;
      readonly new: number;
      readonly changed: number;
      readonly gone: number;
    } | null;
    readonly created_at: number;
    readonly updated_at: number;
    /** Reads the changes as Atom or RSS by ?token=. Shown only here */
    readonly feed_token: string;
  };

  type WatchPatch = {
    readonly name?: string | null;
    /** Replaced as a whole */
    readonly extraction?: ExtractionRequest;
    /** Minutes, hours or days such as 15m, 6h, 1d; at least 5m. The first run begins at once. This or cron */
    readonly every?: string | null;
    /** Five fields in UTC, such as "0 6 * * MON-FRI"; due times at least 5 minutes apart */
    readonly cron?: string | null;
    /** Paths whose values identify a record, such as ["id"] */
    readonly key?: readonly string[];
    /** Paths whose values are compared; by default the whole record */
    readonly compare?: readonly string[] | null;
    readonly emit?: readonly ("new" | "changed" | "gone")[] | null;
    readonly paused?: boolean | null;
  };

  type FeedToken = {
    readonly feed_token: string;
  };

  type WatchChangePage = {
    readonly data: readonly WatchChange[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type WatchChange = {
    /** The id of the watch and the number of the change, which rises by one */
    readonly id: string;
    readonly at: number;
    readonly kind: "new" | "changed" | "gone";
    /** Path → value */
    readonly key: { readonly [name: string]: unknown };
    /** The record as it is; null for one that is gone, and for one of over 16 KiB */
    readonly record: { readonly [name: string]: unknown } | null;
    /** The values that are compared, as they were; absent for a new record, and if they take over 512 bytes */
    readonly before?: { readonly [name: string]: unknown };
  };

  type SessionPage = {
    readonly data: readonly Session[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Session = {
    readonly id: string;
    readonly host: string;
    readonly created_at: number;
    readonly expires_at: number;
  };

  /** At least one of cookies and headers is required */
  type SessionRequest = {
    /** A host name under a registrable domain, or an IP address */
    readonly host: string;
    readonly cookies?: readonly SessionCookie[] | null;
    readonly headers?: { readonly [name: string]: string } | null;
    readonly expires_at?: number | null;
  };

  type SessionCookie = {
    readonly name: string;
    readonly value: string;
    /** The host or a subdomain of it; by default the host and all its subdomains */
    readonly domain?: string | null;
    readonly path?: string | null;
    readonly secure?: boolean | null;
    readonly http_only?: boolean | null;
    readonly expires_at?: number | null;
  };

  type ConnectorPage = {
    readonly data: readonly Connector[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type Connector = {
    readonly id: string;
    readonly title: string;
    readonly description: string;
    readonly docs_url: string;
    readonly rate_policy: string;
    readonly terms_url: string | null;
    readonly attribution: string | null;
    readonly operations: readonly Operation[];
  };

  type Operation = {
    readonly name: string;
    readonly description: string;
    readonly tier: "basic" | "standard";
    readonly paging: string;
    /** JSON Schema 2020-12 */
    readonly input_schema: { readonly [name: string]: unknown };
    /** JSON Schema 2020-12, of a record without _meta */
    readonly record_schema: { readonly [name: string]: unknown };
    readonly example: {
      readonly input: { readonly [name: string]: unknown };
      readonly record: { readonly [name: string]: unknown };
    };
  };

  type AuditPage = {
    readonly data: readonly AuditEntry[];
    readonly has_more: boolean;
    readonly next_cursor: string | null;
  };

  type AuditEntry = {
    /** Unix seconds */
    readonly at: number;
    /**
     * `key:` and the first 12 characters of the key, followed by `/` and the session if it came from the dashboard; `cli`:
     * the operator; `circuit_breaker`: that of rules of your own; `service`: the service itself
     */
    readonly actor: string;
    readonly kind: "customer.created" | "key.created" | "key.revoked" | "list.put" | "list.batch" | "list.removed" | "registry.imported" | "registry.removed" | "label.set" | "review.judged" | "webhook.created" | "webhook.changed" | "webhook.removed" | "webhook.rotated" | "webhook.health" | "review.changed" | "rule.put" | "rule.removed" | "customer.changed" | "customer.deleted" | "named_list.put" | "named_list.items" | "named_list.removed" | "key.replaced" | "model.promoted" | "model.rolled_back" | "model.resumed" | "privacy.erase" | "privacy.export" | "watch.created" | "watch.changed" | "watch.removed";
    /**
     * What was changed: the id of the customer, webhook or decision, the fingerprint hash, or the first 12 characters of
     * the key; null for a batch
     */
    readonly target: string | null;
    /** Some fields as they were; null if there was nothing */
    readonly before: { readonly [name: string]: unknown } | null;
    /** The same fields as they are now; null if nothing is left */
    readonly after: { readonly [name: string]: unknown } | null;
  };

  /**
   * Exactly one of `entity.<name>` (an identity as it was sent to decide), `ip` and `browser` (the id of a browser, or its
   * hash), and optionally `keep_blocks` (default true): list entries that block the person stay
   */
  type PersonErasure = { readonly [name: string]: string | boolean };

  type PrivacyJobStarted = {
    readonly id: string;
    readonly status: "queued" | "running" | "succeeded" | "failed";
  };

  /**
   * Exactly one of `entity.<name>` (an identity as it was sent to decide), `ip` and `browser` (the id of a browser, or its
   * hash)
   */
  type PersonExport = { readonly [name: string]: string | boolean };

  type PrivacyJob = ErasureJob | PersonExportJob;

  type ErasureJob = {
    readonly id: string;
    readonly kind: "erasure";
    /** failed: a place could not be written; the next start repeats the erasure */
    readonly status: "queued" | "running" | "succeeded" | "failed";
    /** entity.<name>, ip or browser; the value is not kept */
    readonly subject: string;
    readonly keep_blocks: boolean;
    readonly requested_at: number;
    readonly finished_at: number | null;
    /** Place → rows that were erased there; empty until it has ended */
    readonly erased: { readonly [name: string]: number };
    /** What stays, and why */
    readonly kept: readonly {
      readonly place: string;
      /** null: not counted */
      readonly rows: number | null;
      readonly ground: "keep_blocks" | "to_be_sent" | "decision_record" | "expires" | "not_searched";
      readonly meaning: string;
    }[];
  };

  type PersonExportJob = {
    readonly id: string;
    readonly kind: "export";
    readonly status: "queued" | "running" | "succeeded" | "failed";
    /** entity.<name>, ip or browser */
    readonly subject: string;
    readonly requested_at: number;
    /** It can be fetched for an hour from then on */
    readonly finished_at: number | null;
    /** Place → rows that were found there */
    readonly found: { readonly [name: string]: number };
    /** Place → rows beyond the size of an export, which has 10,000 rows and 8 MiB at most */
    readonly left_out: { readonly [name: string]: number };
  };

  type Models = {
    readonly active: ActiveModel;
    readonly challenger: ModelSlot;
    /** Newest first, at most 50 */
    readonly candidates: readonly ModelCandidate[];
  };

  type ActiveModel = {
    /** Null for the files in the folder of models itself, and without a model */
    readonly id: string | null;
    readonly version: string | null;
    readonly state: "ok" | "absent" | "broken";
    /** Why it does not run, or why newer files were refused */
    readonly detail: string;
    /** Whether newer files were refused, whatever runs now */
    readonly refused: boolean;
    /** When it was chosen; null if that is not known */
    readonly since: number | null;
    /** Set while the model adds nothing to the caller's decisions, because it stopped five times its budget */
    readonly silent: ModelSilence | null;
  };

  type ModelSilence = {
    readonly since: number;
    /** Decisions that the model alone stopped, in at most an hour */
    readonly alarms: number;
    readonly decisions: number;
  };

  type ModelSlot = {
    /** Null for the files in the folder of models itself, and without a model */
    readonly id: string | null;
    readonly version: string | null;
    readonly state: "ok" | "absent" | "broken";
    /** Why it does not run, or why newer files were refused */
    readonly detail: string;
    /** Whether newer files were refused, whatever runs now */
    readonly refused: boolean;
    /** When it was chosen; null if that is not known */
    readonly since: number | null;
  };

  type ModelCandidate = {
    readonly id: string;
    readonly version: string | null;
    /** `forest` or `onnx` */
    readonly format: string | null;
    readonly trained_at: number | null;
    /** Share of fraud that its probabilities are at */
    readonly prior: number | null;
    /** The probability from which it counts */
    readonly threshold: number | null;
    /** Share of honest sessions that it may stop by itself */
    readonly budget: number | null;
    /** It knows too few frauds to decide */
    readonly shadow_only: boolean;
    /** Those of its report; empty without one */
    readonly gates: readonly {
      readonly name: string;
      readonly holds: boolean;
    }[];
    readonly role: "active" | "challenger" | null;
  };

  type ModelRows = {
    readonly decisions: number;
    /** Decisions with a feature row */
    readonly rows: number;
    /** Days (UTC) with rows */
    readonly days: number;
    /** Rows by label or verdict; blocked are BLOCK without one */
    readonly labels: {
      readonly fraud: number;
      readonly legitimate: number;
      readonly none: number;
      readonly blocked: number;
    };
    /** Sessions with a row that a label or verdict calls fraud */
    readonly fraud_sessions: number;
    readonly honest_sessions: number;
    /** Rows by what says what they were, and by the age of that: a week, 30 days, older */
    readonly by_source: readonly {
      readonly source: "label" | "review" | "challenge";
      readonly ages: {
        readonly week: LabelCounts;
        readonly month: LabelCounts;
        readonly older: LabelCounts;
      };
    }[];
    /** What training needs besides, such as `fraud sessions 0 of 150` */
    readonly missing: readonly string[];
    /** A model from these rows should only be compared */
    readonly shadow_only: boolean;
    readonly is_truncated: boolean;
  };

  type LabelCounts = {
    readonly fraud: number;
    readonly legitimate: number;
  };

  type ModelComparison = {
    /** The challenger; null without one */
    readonly id: string | null;
    /** When it was chosen */
    readonly since: number | null;
    readonly decisions: number;
    readonly sessions: number;
    /** Of the honest sessions */
    readonly alarms: ComparedShares;
    /** Of the fraud sessions */
    readonly catch: ComparedShares;
    /** Fraud sessions by what says that they are; only sources with some */
    readonly catch_by_source: {
      readonly label?: ComparedShares;
      readonly review?: ComparedShares;
      readonly challenge?: ComparedShares;
    };
    readonly unlabelled: {
      readonly sessions: number;
      /** Stopped by the active model and its rules, but not with the challenger */
      readonly only_active: number;
      readonly only_challenger: number;
    };
    /** What has to hold before a promotion; empty without a challenger */
    readonly gates: readonly {
      readonly name: "shadow_days" | "fraud_labels" | "honest_labels" | "alarms" | "catch_by_source" | "training";
      readonly holds: boolean;
      readonly detail: string;
    }[];
    /** There are more decisions than were counted */
    readonly is_truncated: boolean;
  };

  /** A share with its 95 % interval (Wilson) */
  type ShareInterval = {
    /** Sessions that it stops, from SOFT_CHALLENGE on */
    readonly part: number;
    readonly of: number;
    /** Null of nothing, as its interval */
    readonly share: number | null;
    readonly low: number | null;
    readonly high: number | null;
  };

  type ComparedShares = {
    readonly active: ShareInterval;
    readonly challenger: ShareInterval;
  };

  type ModelChoice = {
    /**
     * `shadow`: run the candidate beside the active model, where it decides nothing; `end_shadow`: end that; `promote`:
     * make the challenger the active model, if every gate of the comparison holds; `rollback`: return to the model before;
     * `resume`: let the active model count again where its circuit breaker has silenced it
     */
    readonly action: "shadow" | "end_shadow" | "promote" | "rollback" | "resume";
    /** The candidate, for `shadow` and `promote` */
    readonly id?: string;
  };

  type ModelChosen = {
    /** Null for the files in the folder of models itself, and without a model */
    readonly id: string | null;
    /** Null for the files in the folder of models itself, and without a model */
    readonly previous: string | null;
  };
}

/** Each call by its operationId: its query, its body and the JSON of its successful responses. */
export interface ApiCalls {
  /** Decide about one request: `POST /v1/decide` */
  decide: {
    readonly query: undefined;
    readonly body: Api.DecideRequest;
    readonly answer: Api.Decision;
  };

  /** Whether a proxy lets a request of a visitor pass: `GET /v1/gate` */
  askGate: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** Whether a proxy lets a request of a visitor pass: `POST /v1/gate` */
  postToGate: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The decision that decide would make, with what it follows from; counts, stores and sends nothing: `POST /v1/simulate` */
  simulateDecision: {
    readonly query: undefined;
    readonly body: Api.DecideRequest;
    readonly answer: Api.Simulation & Api.IgnoredMembers;
  };

  /** The customer and the key of this call, and the policy that applies to it: `GET /v1/me` */
  readMe: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Me;
  };

  /** The caller's own keys, oldest first, and how they were used: `GET /v1/keys` */
  listKeys: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.ApiKeyPage;
  };

  /** Make a key: `POST /v1/keys` */
  createKey: {
    readonly query: undefined;
    readonly body: Api.NewKey;
    readonly answer: Api.NewApiKey & Api.IgnoredMembers;
  };

  /** Replace a key: `POST /v1/keys/{prefix}/rotate` */
  rotateKey: {
    readonly query: undefined;
    readonly body: Api.KeyRotation;
    readonly answer: Api.NewApiKey & Api.IgnoredMembers;
  };

  /** Revoke a key: `DELETE /v1/keys/{prefix}` */
  revokeKey: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The caller's own decisions, newest first: `GET /v1/decisions` */
  searchDecisions: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Only decisions of this value */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      /** Part of the IP address, of the country code or of a reason; case-insensitive */
      readonly q?: string;
      /** Only decisions of this time and later, Unix seconds */
      readonly since?: number;
      /** Only decisions before this time, Unix seconds */
      readonly until?: number;
      /** Only decisions of this event type; case-insensitive */
      readonly event_type?: string;
      /** Only decisions with this reason */
      readonly reason?: string;
      /** Only decisions with at least this score */
      readonly score_min?: number;
      /** Only decisions with at most this score */
      readonly score_max?: number;
      /** Only decisions whose address belongs to this network (ASN) */
      readonly asn?: number;
      /** Only decisions whose path begins with this; case-sensitive */
      readonly path?: string;
      /**
       * Only decisions with an e-mail address of this domain. Finds nothing unless the policy keeps identities
       * (`log_identities`: `masked` or `plain`)
       */
      readonly email_domain?: string;
      /** Only decisions with this fingerprint */
      readonly fingerprint_hash?: string;
      /**
       * Only decisions with this link, as <kind>:<value>. The value as it was sent to decide: an identity, a session token,
       * an address or its network (/24, /48), a fingerprint hash. The id of a link in a response is a value too.
       */
      readonly link?: string;
      /** Only decisions that were logged after this one; 404 if it is not in the log any more */
      readonly after?: string;
    };
    readonly body: undefined;
    readonly answer: Api.LoggedDecisionPage;
  };

  /** One of the caller's own decisions: `GET /v1/decisions/{request_id}` */
  findDecision: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ExplainedDecision;
  };

  /** A decision in sentences for the person whom it is about: `GET /v1/decisions/{request_id}/explanation` */
  explainToPerson: {
    readonly query: {
      /** For whom it is: the person whom the decision is about */
      readonly for?: "person";
      /** The language of the sentences */
      readonly lang?: "en" | "de" | "fr" | "es";
    };
    readonly body: undefined;
    readonly answer: Api.PersonExplanation;
  };

  /** What the caller's own decisions about one identity, session, address or fingerprint have in common: `GET /v1/links` */
  findLinks: {
    readonly query: {
      /** session, ip, network, fingerprint, or entity.<name> */
      readonly kind?: string;
      /**
       * The value as it was sent to decide: an identity, a session token, an address or its network (/24, /48), a
       * fingerprint hash. The id of a link in a response is a value too.
       */
      readonly value?: string;
    };
    readonly body: undefined;
    readonly answer: Api.LinkSummary;
  };

  /** What the caller's own decisions and lists know about a fingerprint: `GET /v1/fingerprints/{fingerprint_hash}` */
  findFingerprint: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Fingerprint;
  };

  /** Counts of the caller's own requests by minute, hour or day: `GET /v1/stats` */
  readStats: {
    readonly query: {
      /** Unix seconds; by default 60 minutes, 24 hours or 30 days before to */
      readonly from?: number;
      /** Unix seconds, exclusive; by default now */
      readonly to?: number;
      /** Seconds of a period */
      readonly step?: "60" | "3600" | "86400";
    };
    readonly body: undefined;
    readonly answer: Api.Stats;
  };

  /** The ten most frequent subjects of the caller's own decisions: `GET /v1/top` */
  readTop: {
    readonly query: {
      /** The subjects that are counted; identity stands for every entity.<name> */
      readonly by?: string;
      /** What is counted of each subject: its decisions, those that are not ALLOW, or distinct others on its decisions */
      readonly count?: "decisions" | "flagged" | "identities" | "fingerprints" | "addresses" | "networks" | "sessions";
      /** Unix seconds; by default 24 hours before to */
      readonly from?: number;
      /** Unix seconds, exclusive; by default now */
      readonly to?: number;
    };
    readonly body: undefined;
    readonly answer: Api.Top;
  };

  /** The policy as it applies to the caller's own decisions: `GET /v1/policy` */
  readPolicy: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Policy;
  };

  /** The newest policies that applied to the caller's own decisions, and what each of them changed: `GET /v1/policy/history` */
  listPolicyHistory: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.PolicyHistory;
  };

  /** What each rule did in the caller's own decisions, and how people judged them: `GET /v1/policy/rules` */
  readRuleCounts: {
    readonly query: {
      /** Unix seconds; by default 24 hours before to */
      readonly from?: number;
      /** Unix seconds, exclusive; by default now */
      readonly to?: number;
    };
    readonly body: undefined;
    readonly answer: Api.RuleCounts;
  };

  /** How the challenger's policy decides differently: `GET /v1/policy/challenger` */
  readChallenger: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ChallengerCounts;
  };

  /** Try a policy or rules on the past: `POST /v1/policy/backtest` */
  startBacktest: {
    readonly query: undefined;
    readonly body: Api.Backtest;
    readonly answer: Api.BacktestStarted & Api.IgnoredMembers;
  };

  /** A backtest and its result: `GET /v1/policy/backtest/{id}` */
  findBacktest: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.BacktestJob;
  };

  /** Cancel a backtest: `POST /v1/policy/backtest/{id}/cancel` */
  cancelBacktest: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.BacktestJob & Api.IgnoredMembers;
  };

  /** The caller's own rules: those of the policy file and those of the API: `GET /v1/rules` */
  listRules: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: {
      readonly data: readonly {
        readonly code: string;
        readonly when: string;
        /** Null if the rule has a decision */
        readonly weight: number | null;
        /** Null if the rule has a weight */
        readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
        readonly mode: "observe" | "enforce";
        /** Null for all */
        readonly event_types: readonly string[] | null;
        readonly note: string;
        /** Unix seconds; null for ever */
        readonly expires_at: number | null;
        readonly source: "policy" | "api";
        /** The policy file has a rule with this code, which counts instead */
        readonly shadowed: boolean;
        /** Why the rule does not run, for example because an attribute is not declared any more */
        readonly errors: readonly {
          readonly code: "unknown_fact" | "type_error" | "syntax_error" | "too_costly";
          /** From 1 */
          readonly line: number;
          /** From 1, in UTF-16 units */
          readonly column: number;
          readonly message: string;
          readonly did_you_mean?: string;
        }[];
        /**
         * What is probably not meant, and members of the request that were ignored. list_unusable: the condition is
         * unknown, because a named list is missing or has values of another kind
         */
        readonly warnings: readonly {
          readonly pointer: string;
          readonly code: "amount_without_currency" | "list_unusable" | "unknown_field";
          /** Absent with unknown_field */
          readonly message?: string;
          readonly did_you_mean?: string;
        }[];
        /** What the circuit breaker compares with; null: nothing is known, and no circuit breaker watches the rule */
        readonly predicted: {
          /** Decisions that it fired on */
          readonly touched: number;
          /** Decisions of its event types that were requested with a secret key */
          readonly decisions: number;
        } | null;
        /** When the circuit breaker set it back to observe, Unix seconds; null if it did not, or the rule was changed since */
        readonly tripped_at: number | null;
        /** What the rule had done then, in at most an hour */
        readonly tripped: {
          /** Decisions that it fired on */
          readonly touched: number;
          /** Decisions of its event types that were requested with a secret key */
          readonly decisions: number;
        } | null;
        /** Unix seconds; null for a rule of the policy file */
        readonly created_at: number | null;
        /** Unix seconds; null for a rule of the policy file */
        readonly updated_at: number | null;
        /** Decisions of 24 hours that it had an effect on */
        readonly fired_24h: number;
        /** Decisions of 24 hours that it fired on while it was only observed */
        readonly observed_24h: number;
        /** Distinct persons of both: the first entity of a decision, or its session without one */
        readonly people_24h: number;
      }[];
      /**
       * Attributes that requests with a secret key had since the start of this node, and that nothing reads because the
       * policy does not declare them; at most 64
       */
      readonly undeclared_attributes: readonly {
        readonly name: string;
        readonly did_you_mean?: string;
      }[];
      /** Members of decide requests with a secret key, since the start of this node, that nothing reads; at most 64 */
      readonly ignored_members: readonly {
        readonly name: string;
        readonly did_you_mean?: string;
      }[];
      /** Stored rules that this version cannot read; they do not run */
      readonly unreadable: number;
      readonly examined: {
        readonly decisions: number;
        /** Unix seconds; null without a decision */
        readonly since: number | null;
        /** There were more decisions in 24 hours, or more people */
        readonly is_truncated: boolean;
      };
    };
  };

  /** The facts that conditions of your own rules may read: `GET /v1/rules/facts` */
  listFacts: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: {
      readonly data: readonly {
        /** As it is written in a condition; <name> stands for a name of your own */
        readonly name: string;
        readonly type: "number" | "text" | "boolean" | "list" | "numbers";
        readonly unit?: string;
        readonly meaning: string;
        /** Empty if it never is */
        readonly absent_when: string;
      }[];
    };
  };

  /** Check a condition; stores nothing: `POST /v1/rules/check` */
  checkRule: {
    readonly query: undefined;
    readonly body: Api.RuleCheck;
    readonly answer: {
      readonly ok: true;
      readonly type: "boolean";
      /** The facts in the condition, without identities */
      readonly facts: readonly string[];
      /** Most steps of one evaluation; at most 2,000 */
      readonly cost: number;
      /**
       * What is probably not meant, and members of the request that were ignored. list_unusable: the condition is unknown,
       * because a named list is missing or has values of another kind
       */
      readonly warnings: readonly {
        readonly pointer: string;
        readonly code: "amount_without_currency" | "list_unusable" | "unknown_field";
        /** Absent with unknown_field */
        readonly message?: string;
        readonly did_you_mean?: string;
      }[];
      /** With "sample": true; null while too many searches run */
      readonly sample?: {
        /** Decisions that were examined */
        readonly decisions: number;
        /** The oldest of them, Unix seconds */
        readonly since: number | null;
        readonly matches: number;
        /** Decisions on which it depends on facts that are not kept */
        readonly undecided: number;
        /** Distinct devices or sessions of the matches */
        readonly devices: number;
        /** Facts of the condition that are not kept */
        readonly facts_missing: readonly string[];
        /** Request ids of the newest matches, at most 5 */
        readonly examples: readonly string[];
      } | null;
    } & Api.IgnoredMembers;
  };

  /** One of your own rules: `GET /v1/rules/{code}` */
  findRule: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: {
      readonly code: string;
      readonly when: string;
      /** Null if the rule has a decision */
      readonly weight: number | null;
      /** Null if the rule has a weight */
      readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      readonly mode: "observe" | "enforce";
      /** Null for all */
      readonly event_types: readonly string[] | null;
      readonly note: string;
      /** Unix seconds; null for ever */
      readonly expires_at: number | null;
      readonly source: "policy" | "api";
      /** The policy file has a rule with this code, which counts instead */
      readonly shadowed: boolean;
      /** Why the rule does not run, for example because an attribute is not declared any more */
      readonly errors: readonly {
        readonly code: "unknown_fact" | "type_error" | "syntax_error" | "too_costly";
        /** From 1 */
        readonly line: number;
        /** From 1, in UTF-16 units */
        readonly column: number;
        readonly message: string;
        readonly did_you_mean?: string;
      }[];
      /**
       * What is probably not meant, and members of the request that were ignored. list_unusable: the condition is unknown,
       * because a named list is missing or has values of another kind
       */
      readonly warnings: readonly {
        readonly pointer: string;
        readonly code: "amount_without_currency" | "list_unusable" | "unknown_field";
        /** Absent with unknown_field */
        readonly message?: string;
        readonly did_you_mean?: string;
      }[];
      /** What the circuit breaker compares with; null: nothing is known, and no circuit breaker watches the rule */
      readonly predicted: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** When the circuit breaker set it back to observe, Unix seconds; null if it did not, or the rule was changed since */
      readonly tripped_at: number | null;
      /** What the rule had done then, in at most an hour */
      readonly tripped: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly created_at: number | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly updated_at: number | null;
    };
  };

  /** Write one of your own rules: `PUT /v1/rules/{code}` */
  putRule: {
    readonly query: undefined;
    readonly body: Api.RulePut;
    readonly answer: {
      readonly code: string;
      readonly when: string;
      /** Null if the rule has a decision */
      readonly weight: number | null;
      /** Null if the rule has a weight */
      readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      readonly mode: "observe" | "enforce";
      /** Null for all */
      readonly event_types: readonly string[] | null;
      readonly note: string;
      /** Unix seconds; null for ever */
      readonly expires_at: number | null;
      readonly source: "policy" | "api";
      /** The policy file has a rule with this code, which counts instead */
      readonly shadowed: boolean;
      /** Why the rule does not run, for example because an attribute is not declared any more */
      readonly errors: readonly {
        readonly code: "unknown_fact" | "type_error" | "syntax_error" | "too_costly";
        /** From 1 */
        readonly line: number;
        /** From 1, in UTF-16 units */
        readonly column: number;
        readonly message: string;
        readonly did_you_mean?: string;
      }[];
      /**
       * What is probably not meant, and members of the request that were ignored. list_unusable: the condition is unknown,
       * because a named list is missing or has values of another kind
       */
      readonly warnings: readonly {
        readonly pointer: string;
        readonly code: "amount_without_currency" | "list_unusable" | "unknown_field";
        /** Absent with unknown_field */
        readonly message?: string;
        readonly did_you_mean?: string;
      }[];
      /** What the circuit breaker compares with; null: nothing is known, and no circuit breaker watches the rule */
      readonly predicted: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** When the circuit breaker set it back to observe, Unix seconds; null if it did not, or the rule was changed since */
      readonly tripped_at: number | null;
      /** What the rule had done then, in at most an hour */
      readonly tripped: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly created_at: number | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly updated_at: number | null;
    } & Api.IgnoredMembers;
  };

  /** Change one of your own rules: `PATCH /v1/rules/{code}` */
  changeRule: {
    readonly query: undefined;
    readonly body: Api.RulePatch;
    readonly answer: {
      readonly code: string;
      readonly when: string;
      /** Null if the rule has a decision */
      readonly weight: number | null;
      /** Null if the rule has a weight */
      readonly decision: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | null;
      readonly mode: "observe" | "enforce";
      /** Null for all */
      readonly event_types: readonly string[] | null;
      readonly note: string;
      /** Unix seconds; null for ever */
      readonly expires_at: number | null;
      readonly source: "policy" | "api";
      /** The policy file has a rule with this code, which counts instead */
      readonly shadowed: boolean;
      /** Why the rule does not run, for example because an attribute is not declared any more */
      readonly errors: readonly {
        readonly code: "unknown_fact" | "type_error" | "syntax_error" | "too_costly";
        /** From 1 */
        readonly line: number;
        /** From 1, in UTF-16 units */
        readonly column: number;
        readonly message: string;
        readonly did_you_mean?: string;
      }[];
      /**
       * What is probably not meant, and members of the request that were ignored. list_unusable: the condition is unknown,
       * because a named list is missing or has values of another kind
       */
      readonly warnings: readonly {
        readonly pointer: string;
        readonly code: "amount_without_currency" | "list_unusable" | "unknown_field";
        /** Absent with unknown_field */
        readonly message?: string;
        readonly did_you_mean?: string;
      }[];
      /** What the circuit breaker compares with; null: nothing is known, and no circuit breaker watches the rule */
      readonly predicted: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** When the circuit breaker set it back to observe, Unix seconds; null if it did not, or the rule was changed since */
      readonly tripped_at: number | null;
      /** What the rule had done then, in at most an hour */
      readonly tripped: {
        /** Decisions that it fired on */
        readonly touched: number;
        /** Decisions of its event types that were requested with a secret key */
        readonly decisions: number;
      } | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly created_at: number | null;
      /** Unix seconds; null for a rule of the policy file */
      readonly updated_at: number | null;
    } & Api.IgnoredMembers;
  };

  /** Delete one of your own rules: `DELETE /v1/rules/{code}` */
  deleteRule: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The caller's own entries: `GET /v1/lists` */
  listEntries: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Adds day to each row; a page then has at most 100 rows */
      readonly usage?: boolean;
      /** Only entries with this action */
      readonly action?: "block" | "allow" | "watch";
      /** Only entries of this kind */
      readonly kind?: string;
    };
    readonly body: undefined;
    readonly answer: Api.ListPage;
  };

  /** Add an entry, or replace the entry of the same value: `POST /v1/lists` */
  putEntry: {
    readonly query: undefined;
    readonly body: Api.ListChange;
    readonly answer: Api.ListEntry & Api.IgnoredMembers;
  };

  /** Remove the caller's own entry of a value: `DELETE /v1/lists` */
  removeEntryByQuery: {
    readonly query: {
      /** The kind of an entry, such as ip or entity.card */
      readonly kind?: string;
      /** The value as it was written, as answers show it, or for a hidden identity hash: and its digits */
      readonly value?: string;
    };
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** Up to 1,000 entries at once: `POST /v1/lists/batch` */
  putEntries: {
    readonly query: {
      /** Validates the entries and returns what would change; writes nothing */
      readonly dry_run?: boolean;
    };
    readonly body: {
      readonly entries: readonly Api.ListChange[];
    } | readonly Api.ListChange[];
    readonly answer: Api.ListBatchResult & Api.IgnoredMembers;
  };

  /**
   * Fingerprints of the caller's own recent flagged decisions, one row per fingerprint, newest first: `GET
   * /v1/lists/candidates`
   */
  searchCandidates: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Adds day to each row; a page then has at most 100 rows */
      readonly usage?: boolean;
      /** Only decisions of this value; ALLOW gives an empty page */
      readonly decision?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK";
      /** Part of the IP address, of the country code or of a reason; case-insensitive */
      readonly q?: string;
    };
    readonly body: undefined;
    readonly answer: Api.CandidatePage;
  };

  /** One of the caller's own entries of fingerprints: `GET /v1/lists/{fingerprint_hash}` */
  findEntry: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ListEntry;
  };

  /** Remove the caller's own entry of a fingerprint: `DELETE /v1/lists/{fingerprint_hash}` */
  removeEntry: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** One of the caller's own entries, by its kind and value: `GET /v1/lists/{kind}/{value}` */
  findValueEntry: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ListEntry;
  };

  /** Remove the caller's own entry, by its kind and value: `DELETE /v1/lists/{kind}/{value}` */
  removeValueEntry: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The lists that conditions of your own rules can name: `GET /v1/named-lists` */
  listNamedLists: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: {
      /** By name */
      readonly data: readonly Api.NamedList[];
      /** Of all lists, with those of deleted lists that were not removed yet */
      readonly items: number;
      readonly items_max: number;
    };
  };

  /** Make a named list, or change its note: `PUT /v1/named-lists/{name}` */
  putNamedList: {
    readonly query: undefined;
    readonly body: Api.NamedListPut;
    readonly answer: Api.NamedList & Api.IgnoredMembers;
  };

  /** Delete a named list with its items: `DELETE /v1/named-lists/{name}` */
  deleteNamedList: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The items of a named list: `GET /v1/named-lists/{name}/items` */
  listNamedItems: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.NamedItemPage;
  };

  /** Add items to a named list, and remove some: `POST /v1/named-lists/{name}/items` */
  changeNamedItems: {
    readonly query: undefined;
    readonly body: Api.NamedItemsChange;
    readonly answer: {
      /** Items that were not in the list; for the others only expires_at is replaced */
      readonly added: number;
      /** Items that were in the list */
      readonly removed: number;
      readonly rejected: readonly {
        /** Position in add or remove, from 0 */
        readonly index: number;
        readonly code: "invalid_value";
        /** Which of the two */
        readonly pointer: string;
        readonly message: string;
      }[];
    } & Api.IgnoredMembers;
  };

  /** Earlier versions of a named list: `GET /v1/named-lists/{name}/versions` */
  listNamedVersions: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: {
      /** At most 3, the newest first */
      readonly data: readonly Api.NamedListVersion[];
    };
  };

  /** Bring back an earlier version of a named list: `POST /v1/named-lists/{name}/restore` */
  restoreNamedList: {
    readonly query: undefined;
    readonly body: Api.NamedListRestore;
    readonly answer: Api.NamedList & Api.IgnoredMembers;
  };

  /**
   * Report outcomes of decisions: whether the login succeeded, the card was declined, the challenge was passed: `POST
   * /v1/outcomes`
   */
  reportOutcomes: {
    readonly query: undefined;
    readonly body: Api.OutcomeReport | Api.OutcomeBatch;
    readonly answer: Api.OutcomeResult & Api.IgnoredMembers;
  };

  /** Label one of your own decisions: `POST /v1/labels` */
  labelDecision: {
    readonly query: undefined;
    readonly body: Api.LabelChange;
    readonly answer: Api.Label & Api.IgnoredMembers;
  };

  /** The review queue: `GET /v1/shadow-reviews` */
  listShadowReviews: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Only rows with this verdict; `none` for rows without a verdict */
      readonly verdict?: "none" | "fraud" | "legitimate" | "unsure";
      /** Only rows that are queued for this reason */
      readonly why?: "sample" | "near_block" | "challenger" | "review";
      /** `shadow`: decisions whose response had shadow_routed set. `review`: every REVIEW decision. `all`: both */
      readonly queue?: "shadow" | "review" | "all";
      /** `open`: only rows without a verdict that were not closed. `done`: only the others */
      readonly state?: "open" | "done";
      /** `score`: the highest first, of the newest 10,000 rows */
      readonly order?: "newest" | "oldest" | "score";
    };
    readonly body: undefined;
    readonly answer: Api.ShadowReviewPage;
  };

  /** Judge, assign, annotate or close a row: `POST /v1/shadow-reviews/{request_id}` */
  judgeShadowReview: {
    readonly query: undefined;
    readonly body: Api.ReviewChange;
    readonly answer: Api.ShadowReview & Api.IgnoredMembers;
  };

  /** The caller's own webhooks, newest first: `GET /v1/webhooks` */
  listWebhooks: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.WebhookPage;
  };

  /** Register an endpoint for events: `POST /v1/webhooks` */
  createWebhook: {
    readonly query: undefined;
    readonly body: Api.WebhookChange;
    readonly answer: Api.Webhook & Api.IgnoredMembers;
  };

  /** Deliveries to all of the caller's endpoints, newest first: `GET /v1/webhooks/deliveries` */
  listDeliveries: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Only deliveries to this webhook */
      readonly webhook_id?: string;
      /** Only deliveries about this decision or extraction */
      readonly request_id?: string;
      /** Only deliveries with this status */
      readonly status?: "pending" | "succeeded" | "failed" | "skipped";
      /** Only deliveries of this event */
      readonly event?: "ALLOW" | "ALLOW_WATCH" | "SOFT_CHALLENGE" | "REVIEW" | "BLOCK" | "extraction.records" | "extraction.completed" | "extraction.failed" | "review.verdict" | "label.created" | "list.changed" | "rule.tripped" | "webhook.unhealthy" | "watch.changes";
    };
    readonly body: undefined;
    readonly answer: Api.DeliveryPage;
  };

  /** One of the caller's own deliveries: `GET /v1/webhooks/deliveries/{id}` */
  findDelivery: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.DeliveryDetail;
  };

  /** Deliver the same bytes again: `POST /v1/webhooks/deliveries/{id}/retry` */
  retryDelivery: {
    readonly query: undefined;
    readonly body: { readonly [name: string]: unknown };
    readonly answer: Api.Delivery & Api.IgnoredMembers;
  };

  /** One of the caller's own webhooks: `GET /v1/webhooks/{id}` */
  findWebhook: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Webhook;
  };

  /** Change or pause a webhook: `PATCH /v1/webhooks/{id}` */
  changeWebhook: {
    readonly query: undefined;
    readonly body: Api.WebhookPatch;
    readonly answer: Api.Webhook & Api.IgnoredMembers;
  };

  /** Delete a webhook: `DELETE /v1/webhooks/{id}` */
  deleteWebhook: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** Send an example event now: `POST /v1/webhooks/{id}/test` */
  testWebhook: {
    readonly query: undefined;
    readonly body: { readonly [name: string]: unknown };
    readonly answer: Api.Delivery & Api.IgnoredMembers;
  };

  /** Rotate a webhook's secret: `POST /v1/webhooks/{id}/rotate` */
  rotateSecret: {
    readonly query: undefined;
    readonly body: Api.Rotation;
    readonly answer: Api.Webhook & Api.IgnoredMembers;
  };

  /** Deliver decisions that never arrived: `POST /v1/webhooks/{id}/recover` */
  recoverDeliveries: {
    readonly query: undefined;
    readonly body: Api.Recovery;
    readonly answer: Api.Recovered & Api.IgnoredMembers;
  };

  /** The caller's own extractions, newest first: `GET /v1/extractions` */
  listExtractions: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Only extractions with this status */
      readonly status?: "queued" | "running" | "succeeded" | "failed";
      /** Only extractions with this connector */
      readonly connector?: string;
      /** Only extractions with this operation */
      readonly operation?: string;
    };
    readonly body: undefined;
    readonly answer: Api.ExtractionPage;
  };

  /** Extract records from a source: `POST /v1/extractions` */
  createExtraction: {
    readonly query: undefined;
    readonly body: Api.ExtractionRequest;
    readonly answer: Api.InlineExtraction & Api.IgnoredMembers | Api.ExtractionCreated & Api.IgnoredMembers;
  };

  /** One of the caller's own extractions: `GET /v1/extractions/{id}` */
  findExtraction: {
    readonly query: {
      /** Seconds */
      readonly wait?: number;
    };
    readonly body: undefined;
    readonly answer: Api.Extraction;
  };

  /** Cancel an extraction: `POST /v1/extractions/{id}/cancel` */
  cancelExtraction: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Extraction & Api.IgnoredMembers;
  };

  /** The records of an extraction that has succeeded: `GET /v1/extractions/{id}/records` */
  listRecords: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** By default the format of the job's output */
      readonly format?: "json" | "ndjson" | "csv" | "md" | "parquet";
      /** Returns the records so far of a job that has not succeeded */
      readonly partial?: boolean;
    };
    readonly body: undefined;
    readonly answer: Api.RecordPage;
  };

  /** The caller's own watches, oldest first: `GET /v1/watches` */
  listWatches: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.WatchPage;
  };

  /** Run an extraction again and again, and keep what changes: `POST /v1/watches` */
  createWatch: {
    readonly query: undefined;
    readonly body: Api.WatchRequest;
    readonly answer: Api.WatchCreated & Api.IgnoredMembers;
  };

  /** One of the caller's own watches: `GET /v1/watches/{id}` */
  findWatch: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Watch;
  };

  /** Change, pause or resume a watch: `PATCH /v1/watches/{id}` */
  changeWatch: {
    readonly query: undefined;
    readonly body: Api.WatchPatch;
    readonly answer: Api.Watch & Api.IgnoredMembers;
  };

  /** Delete a watch with its changes: `DELETE /v1/watches/{id}` */
  deleteWatch: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** Run a watch now: `POST /v1/watches/{id}/run` */
  runWatch: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Watch & Api.IgnoredMembers;
  };

  /** Replace the feed token of a watch: `POST /v1/watches/{id}/feed-token` */
  rotateFeedToken: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.FeedToken & Api.IgnoredMembers;
  };

  /** What a watch has found: `GET /v1/watches/{id}/changes` */
  listWatchChanges: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** atom and rss: the newest 100 changes, newest first, without pages */
      readonly format?: "json" | "ndjson" | "atom" | "rss";
      /** newest: the newest changes, newest first, one page without a cursor */
      readonly order?: "oldest" | "newest";
      /** The feed token, instead of a key; with atom and rss only */
      readonly token?: string;
    };
    readonly body: undefined;
    readonly answer: Api.WatchChangePage;
  };

  /** The caller's own sessions, newest first: `GET /v1/sessions` */
  listSessions: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.SessionPage;
  };

  /** Supply the cookies or headers of a login: `POST /v1/sessions` */
  createSession: {
    readonly query: undefined;
    readonly body: Api.SessionRequest;
    readonly answer: Api.Session & Api.IgnoredMembers;
  };

  /** One of the caller's own sessions: `GET /v1/sessions/{id}` */
  findSession: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Session;
  };

  /** Delete a session: `DELETE /v1/sessions/{id}` */
  deleteSession: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** List the connectors: `GET /v1/connectors` */
  listConnectors: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
    };
    readonly body: undefined;
    readonly answer: Api.ConnectorPage;
  };

  /** Get a connector: `GET /v1/connectors/{id}` */
  findConnector: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Connector;
  };

  /** Who changed what, newest first: `GET /v1/audit` */
  listAudit: {
    readonly query: {
      /** Maximum number of rows in a page */
      readonly limit?: number;
      /** The next_cursor of the previous page */
      readonly cursor?: string;
      /** Only entries of this kind */
      readonly kind?: "customer.created" | "key.created" | "key.revoked" | "list.put" | "list.batch" | "list.removed" | "registry.imported" | "registry.removed" | "label.set" | "review.judged" | "webhook.created" | "webhook.changed" | "webhook.removed" | "webhook.rotated" | "webhook.health" | "review.changed" | "rule.put" | "rule.removed" | "customer.changed" | "customer.deleted" | "named_list.put" | "named_list.items" | "named_list.removed" | "key.replaced" | "model.promoted" | "model.rolled_back" | "model.resumed" | "privacy.erase" | "privacy.export" | "watch.created" | "watch.changed" | "watch.removed";
      /** Only entries from then on, Unix seconds */
      readonly since?: number;
      /** Only entries before then, Unix seconds */
      readonly until?: number;
    };
    readonly body: undefined;
    readonly answer: Api.AuditPage;
  };

  /** Erase a person: `POST /v1/privacy/erase` */
  erasePerson: {
    readonly query: undefined;
    readonly body: Api.PersonErasure;
    readonly answer: Api.PrivacyJobStarted & Api.IgnoredMembers;
  };

  /** Export what is kept about a person: `POST /v1/privacy/export` */
  exportPerson: {
    readonly query: undefined;
    readonly body: Api.PersonExport;
    readonly answer: Api.PrivacyJobStarted & Api.IgnoredMembers;
  };

  /** An erasure: what was found where, and what stays on which ground; or an export: `GET /v1/privacy/{id}` */
  findPrivacyJob: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.PrivacyJob;
  };

  /** The result of an export: `GET /v1/privacy/{id}/result` */
  readPersonExport: {
    readonly query: {
      /** NDJSON, or one page for people */
      readonly format?: "ndjson" | "html";
    };
    readonly body: undefined;
    readonly answer: undefined;
  };

  /** The active model, the challenger beside it, and the candidates: `GET /v1/models` */
  readModels: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.Models;
  };

  /** What the caller's own decisions have for a model to learn from: `GET /v1/models/rows` */
  readModelRows: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ModelRows;
  };

  /** The challenger against the active model, on the caller's own decisions: `GET /v1/models/compare` */
  compareModels: {
    readonly query: undefined;
    readonly body: undefined;
    readonly answer: Api.ModelComparison;
  };

  /** Choose which model decides, or which candidate runs beside it: `POST /v1/models/choose` */
  chooseModel: {
    readonly query: undefined;
    readonly body: Api.ModelChoice;
    readonly answer: Api.ModelChosen & Api.IgnoredMembers;
  };
}
