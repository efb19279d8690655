import type { SystemFamily } from '../signals/agent-families.ts';
import type { AgentFacts, Facts, TokenSignals } from '../facts.ts';
import { hit, type Rule } from './rule.ts';

/**
 * Fires when other signals of the browser contradict its user agent: client hints (headers or token), `navigator.platform`, touch. Source
 * of the weight: the default rules.
 *
 * Quiet for these, all of them real browsers:
 * - iPads, which identify as Macs, and any phone that requests the desktop site: desktop agent, phone platform, touch;
 * - Firefox on Linux or macOS that claims Windows: its fingerprinting protection does that (Tor Browser enables it);
 * - web views, whose app may set the agent and leave the hints unchanged;
 * - appliances, and systems that are not distinguished; every signal that is missing or empty.
 */
export const deviceAgentContradiction: Rule = {
  code: 'device_agent_contradiction',
  family: 'client',
  weights: { default: 0.3 },
  hint: 'the browser contradicts its own user agent',
  quietedBy: 'iPads, desktop sites on phones, Firefox that hides its system, web views, appliances',
  evaluate(facts) {
    const { agent, userAgent, token } = facts;
    if (agent === null || agent.form === 'other') return null;
    const signals = token.kind === 'collector' ? token.signals : null;
    if (signals !== null && asksForDesktopSite(agent, signals)) return null;
    const hint = findInHints(facts, agent, signals);
    // In this order, because most requests have no such hint, and finding out whether it is a web view costs more.
    const found = (hint === null || isWebView(userAgent, signals) ? null : hint) ?? findInSignals(agent, signals);
    return found === null ? null : hit(found.slice(0, EVIDENCE_CHARACTERS_MAX));
  },
};

/** Choice: keeps evidence short, because part of it is the client's text. */
const EVIDENCE_CHARACTERS_MAX = 200;

function isWebView(userAgent: string | null, signals: TokenSignals | null): boolean {
  if ((signals?.webView ?? null) !== null) return true;
  return userAgent !== null && /; wv\)|Version\/4\.0|\bFB[AI]|Instagram|Line\/|MicroMessenger/.test(userAgent);
}

function asksForDesktopSite({ form, system }: AgentFacts, { platform, touchPoints }: TokenSignals): boolean {
  if (form !== 'desktop' || platform === null) return false;
  if (/^(?:iPhone|iPad|iPod|Android|Linux (?:arm|aarch))/.test(platform))
    return touchPoints === null || touchPoints > 0;
  return system === 'macos' && platform.startsWith('Mac');
}

/** Only Chromium has client hints. Its hint for the system is more reliable than the agent, which it freezes. */
function findInHints({ headers }: Facts, agent: AgentFacts, signals: TokenSignals | null): string | null {
  const platform = signals?.platformHint ?? unquote(headers.get('sec-ch-ua-platform'));
  const hinted = platform === null ? null : systemOfHint(platform);
  if (agent.browser === 'firefox' || agent.browser === 'safari') {
    const hints = platform ?? unquote(headers.get('sec-ch-ua'));
    return hints === null || hints === '' ? null : `${agent.browser} sends client hints: ${hints}`;
  }
  if (agent.browser !== 'chromium') return null;
  if (hinted !== null && agent.system !== 'other' && hinted !== agent.system)
    return `agent says ${agent.system}, client hint says ${platform ?? ''}`;
  const mobile = signals?.mobileHint ?? readMobile(headers.get('sec-ch-ua-mobile'));
  if (mobile === true && agent.system === 'windows') return 'agent says windows, client hint says mobile';
  // A phone's browser claims to be mobile in both places or, when it requests the desktop site, in neither.
  if (mobile === false && agent.form === 'mobile') return 'agent says mobile, client hint says not mobile';
  return null;
}

function findInSignals(agent: AgentFacts, signals: TokenSignals | null): string | null {
  const platform = signals?.platform?.trim() ?? '';
  if (platform !== '' && !PLATFORMS[agent.system].test(platform)) {
    const hidesItself = agent.browser === 'firefox' && agent.system === 'windows' && /^(?:Linux|Mac)/.test(platform);
    if (!hidesItself) return `agent says ${agent.system}, platform says ${platform}`;
  }
  const phone = agent.system === 'ios' || (agent.system === 'android' && agent.form === 'mobile');
  if (phone && agent.browser !== 'firefox' && signals?.touchPoints === 0)
    return `agent says ${agent.system}, but there is no touch`;
  return null;
}

/** Values of `navigator.platform` on each system. An iPad may identify as a Mac in one place and as an iPad in the other. */
const PLATFORMS: Readonly<Record<SystemFamily, RegExp>> = {
  windows: /^Win/,
  macos: /^(?:Mac|iPhone|iPad|iPod)/,
  linux: /^(?:Linux|X11|FreeBSD|OpenBSD|NetBSD|SunOS)/,
  android: /^(?:Linux|Android|null)/,
  ios: /^(?:iPhone|iPad|iPod|Mac)/,
  chromeos: /^(?:Linux|CrOS|X11)/,
  other: /^/,
};

function systemOfHint(platform: string): SystemFamily | null {
  switch (platform.toLowerCase()) {
    case 'windows':
      return 'windows';
    case 'macos':
    case 'mac os x':
      return 'macos';
    case 'linux':
      return 'linux';
    case 'android':
      return 'android';
    case 'chrome os':
    case 'chromium os':
      return 'chromeos';
    case 'ios':
      return 'ios';
    default:
      return null;
  }
}

/** The hint is a structured field: `"Windows"`. */
function unquote(value: string | undefined): string | null {
  return value === undefined ? null : value.trim().replace(/^"|"$/g, '');
}

function readMobile(value: string | undefined): boolean | null {
  if (value === undefined) return null;
  const text = value.trim();
  return text === '?1' ? true : text === '?0' ? false : null;
}
