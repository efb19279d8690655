import type { Rule } from './rule.ts';
import { contextPartlyUnlike } from './context_partly_unlike.ts';
import { contextThenValue } from './context_then_value.ts';
import { contextUnlikePerson } from './context_unlike_person.ts';
import { agentSurge1h } from './agent_surge_1h.ts';
import { coldLoginsNetwork1h } from './cold_logins_network_1h.ts';
import { deviceAgentContradiction } from './device_agent_contradiction.ts';
import { deviceAiAgent } from './device_ai_agent.ts';
import { deviceAppStack } from './device_app_stack.ts';
import { deviceAutomation } from './device_automation.ts';
import { deviceBotUserAgent } from './device_bot_user_agent.ts';
import { deviceHeadless } from './device_headless.ts';
import { deviceHttpLibrary } from './device_http_library.ts';
import { deviceManyEntities } from './device_many_entities.ts';
import { deviceMissingAcceptLanguage } from './device_missing_accept_language.ts';
import { deviceMissingUserAgent } from './device_missing_user_agent.ts';
import { deviceNewForEntity } from './device_new_for_entity.ts';
import { deviceOutdatedBrowser } from './device_outdated_browser.ts';
import { deviceScriptedInput } from './device_scripted_input.ts';
import { deviceTimezoneMismatch } from './device_timezone_mismatch.ts';
import { deviceTlsContradiction } from './device_tls_contradiction.ts';
import { deviceTlsTool } from './device_tls_tool.ts';
import { emailNewDomainSurge } from './email_new_domain_surge.ts';
import { emailNoMx } from './email_no_mx.ts';
import { emailSameMailbox } from './email_same_mailbox.ts';
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
import { journeySingleEvent } from './journey_single_event.ts';
import { journeyTooFast } from './journey_too_fast.ts';
import { listAllow } from './list_allow.ts';
import { listBlock } from './list_block.ts';
import { loginFailuresElsewhere1h } from './login_failures_elsewhere_1h.ts';
import { loginFailuresEntity1h } from './login_failures_entity_1h.ts';
import { loginFailuresIp24h } from './login_failures_ip_24h.ts';
import { loginFailuresSurge10m } from './login_failures_surge_10m.ts';
import { loginsEntity1h } from './logins_entity_1h.ts';
import { modelScore } from './model_score.ts';
import { paymentDeclinesActor1h } from './payment_declines_actor_1h.ts';
import { paymentDeclinesSurge10m } from './payment_declines_surge_10m.ts';
import { paymentHighNewAccount } from './payment_high_new_account.ts';
import { registryKnownBad } from './registry_known_bad.ts';
import { registrySuspicious } from './registry_suspicious.ts';
import { sessionAgentChange } from './session_agent_change.ts';
import { sessionCountryChange } from './session_country_change.ts';
import { sessionIpChange } from './session_ip_change.ts';
import { sessionManyNetworks } from './session_many_networks.ts';
import { sessionTakenOver } from './session_taken_over.ts';
import { sessionPages } from './session_pages.ts';
import { sessionTokenOld } from './session_token_old.ts';
import { signupSurge1h } from './signup_surge_1h.ts';
import { strangersIp24h } from './strangers_ip_24h.ts';
import { strangersSurge10m } from './strangers_surge_10m.ts';
import { tokenBroken } from './token_broken.ts';
import { tokenForged } from './token_forged.ts';
import { tokenReplayed } from './token_replayed.ts';
import { tokenUnbound } from './token_unbound.ts';
import { tokenWithoutGrant } from './token_without_grant.ts';
import { travelImpossible } from './travel_impossible.ts';
import { travelImprobable } from './travel_improbable.ts';
import { valuesPerActor24h } from './values_per_actor_24h.ts';
import { agentForged } from './agent_forged.ts';
import { agentVerified } from './agent_verified.ts';
import { trustedSource } from './trusted_source.ts';
import { velocityEntity1m } from './velocity_entity_1m.ts';
import { velocityEntityCountries24h } from './velocity_entity_countries_24h.ts';
import { velocityEntityDevices24h } from './velocity_entity_devices_24h.ts';
import { velocityEntityIps1h } from './velocity_entity_ips_1h.ts';
import { velocityEntityPayments1h } from './velocity_entity_payments_1h.ts';
import { velocityIp1m } from './velocity_ip_1m.ts';
import { velocityIpEntities1h } from './velocity_ip_entities_1h.ts';
import { velocityIpLogins10m } from './velocity_ip_logins_10m.ts';
import { velocityIpPayments1h } from './velocity_ip_payments_1h.ts';
import { velocityIpSignups24h } from './velocity_ip_signups_24h.ts';
import { velocityMachineRhythm } from './velocity_machine_rhythm.ts';
import { velocitySession1m } from './velocity_session_1m.ts';
import { velocitySessionPayments1h } from './velocity_session_payments_1h.ts';

/**
 * All rules, by family in the order of the default rules. The position of a rule is its bit in the batch buffers between threads, so there
 * can be at most 96. Both sides of a batch buffer are built from one source, so positions may change from build to build.
 */
export const RULES: readonly Rule[] = [
  listBlock,
  listAllow,
  registryKnownBad,
  registrySuspicious,
  deviceMissingUserAgent,
  deviceBotUserAgent,
  agentForged,
  deviceHttpLibrary,
  deviceHeadless,
  deviceAutomation,
  deviceScriptedInput,
  deviceAppStack,
  deviceAiAgent,
  deviceOutdatedBrowser,
  deviceAgentContradiction,
  deviceMissingAcceptLanguage,
  deviceTlsTool,
  deviceTlsContradiction,
  deviceManyEntities,
  deviceNewForEntity,
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
  trustedSource,
  agentVerified,
  velocityIp1m,
  velocityIpLogins10m,
  velocityIpEntities1h,
  velocityIpSignups24h,
  velocityIpPayments1h,
  loginFailuresIp24h,
  strangersIp24h,
  coldLoginsNetwork1h,
  velocityEntity1m,
  velocityEntityPayments1h,
  velocityEntityDevices24h,
  loginFailuresEntity1h,
  loginFailuresElsewhere1h,
  loginsEntity1h,
  velocitySession1m,
  velocitySessionPayments1h,
  paymentDeclinesActor1h,
  valuesPerActor24h,
  sessionPages,
  velocityMachineRhythm,
  loginFailuresSurge10m,
  paymentDeclinesSurge10m,
  strangersSurge10m,
  signupSurge1h,
  agentSurge1h,
  travelImpossible,
  travelImprobable,
  contextUnlikePerson,
  contextPartlyUnlike,
  velocityEntityIps1h,
  velocityEntityCountries24h,
  sessionIpChange,
  sessionCountryChange,
  sessionManyNetworks,
  deviceTimezoneMismatch,
  sessionAgentChange,
  sessionTakenOver,
  sessionTokenOld,
  tokenReplayed,
  tokenUnbound,
  tokenForged,
  tokenBroken,
  tokenWithoutGrant,
  journeyDirectHit,
  journeySingleEvent,
  journeyTooFast,
  journeyForeignReferrer,
  contextThenValue,
  journeyProbeUrl,
  identityDisposableEmail,
  identityRandomEmail,
  emailNoMx,
  emailSameMailbox,
  emailNewDomainSurge,
  paymentHighNewAccount,
  modelScore,
];

/** Choice: the bits of three words of a batch buffer. */
export const RULES_MAX = 96;

/** Code → position in `RULES`. */
export const RULE_INDEX: ReadonlyMap<string, number> = new Map(RULES.map(({ code }, position) => [code, position]));

if (RULES.length > RULES_MAX) throw new Error('more rules than bits in a batch buffer');
if (RULE_INDEX.size !== RULES.length) throw new Error('two rules share a code');
