import type { Rule } from '../rule.ts';
import { deviceAgentContradiction } from './device_agent_contradiction.ts';
import { deviceAiAgent } from './device_ai_agent.ts';
import { deviceBotUserAgent } from './device_bot_user_agent.ts';
import { deviceHeadless } from './device_headless.ts';
import { deviceHttpLibrary } from './device_http_library.ts';
import { deviceMissingAcceptLanguage } from './device_missing_accept_language.ts';
import { deviceMissingUserAgent } from './device_missing_user_agent.ts';
import { deviceOutdatedBrowser } from './device_outdated_browser.ts';
import { deviceTimezoneMismatch } from './device_timezone_mismatch.ts';
import { deviceTlsContradiction } from './device_tls_contradiction.ts';
import { deviceTlsTool } from './device_tls_tool.ts';
import { identityDisposableEmail } from './identity_disposable_email.ts';
import { identityRandomEmail } from './identity_random_email.ts';
import { ipHosting } from './ip_hosting.ts';
import { ipInvalid } from './ip_invalid.ts';
import { ipNotPublic } from './ip_not_public.ts';
import { ipProxy } from './ip_proxy.ts';
import { ipRelay } from './ip_relay.ts';
import { ipResidentialProxy } from './ip_residential_proxy.ts';
import { ipTorExit } from './ip_tor_exit.ts';
import { ipVpn } from './ip_vpn.ts';
import { ipWatchedAsn } from './ip_watched_asn.ts';
import { ipWatchedCountry } from './ip_watched_country.ts';
import { journeyDirectHit } from './journey_direct_hit.ts';
import { journeyForeignReferrer } from './journey_foreign_referrer.ts';
import { journeyProbeUrl } from './journey_probe_url.ts';
import { listAllow } from './list_allow.ts';
import { listBlock } from './list_block.ts';
import { modelScore } from './model_score.ts';
import { registryKnownBad } from './registry_known_bad.ts';
import { registrySuspicious } from './registry_suspicious.ts';
import { sessionTokenOld } from './session_token_old.ts';

/**
 * All rules, by family in the order of the default rules. The position of a rule is its bit in the frames between threads, so
 * there can be at most 64; both sides of a frame are built from one source, so positions may change from build to build.
 */
export const RULES: readonly Rule[] = [
  listBlock,
  listAllow,
  registryKnownBad,
  registrySuspicious,
  deviceMissingUserAgent,
  deviceBotUserAgent,
  deviceHttpLibrary,
  deviceHeadless,
  deviceAiAgent,
  deviceOutdatedBrowser,
  deviceAgentContradiction,
  deviceMissingAcceptLanguage,
  deviceTlsTool,
  deviceTlsContradiction,
  ipInvalid,
  ipNotPublic,
  ipTorExit,
  ipProxy,
  ipResidentialProxy,
  ipHosting,
  ipVpn,
  ipRelay,
  ipWatchedCountry,
  ipWatchedAsn,
  deviceTimezoneMismatch,
  sessionTokenOld,
  journeyDirectHit,
  journeyForeignReferrer,
  journeyProbeUrl,
  identityDisposableEmail,
  identityRandomEmail,
  modelScore,
];

/** Choice: the bits of one frame word pair. */
export const RULES_MAX = 64;

/** Code → position in `RULES`. */
export const RULE_INDEX: ReadonlyMap<string, number> = new Map(RULES.map(({ code }, position) => [code, position]));

if (RULES.length > RULES_MAX) throw new Error('more rules than bits in a frame');
if (RULE_INDEX.size !== RULES.length) throw new Error('two rules share a code');
