import type { BrowserFamily, SystemFamily } from './signals/agent-families.ts';
import type { AgentFacts, Facts, GeoFacts } from './facts.ts';
import { AGENT_VERIFICATIONS, type AgentPurpose, type AgentVerification } from '../contract/vocabulary.ts';
import { agentOfNumber } from './signals/claimed-agent.ts';

/**
 * Class of the agent and coarse location of a decision, as its record keeps them:
 *
 *   agent     browser (2 bits), system (3 bits), form (2 bits), given (1 bit); kind of automation, u8
 *   location  only if it is known: latitude and longitude in tenths of a degree (some 11 km), i16 each; accuracy radius in km, u16
 *   claim     only if the agent names a crawler: number of the crawler, u8; how it was verified, u8, 0 if nothing is known
 *
 * The length says which of them there are. Older builds read the first two.
 */
const AGENT_BYTES = 2;
const LOCATED_BYTES = 8;
const CLAIM_BYTES = 2;

/** Positions are stored, so these lists are only appended to. */
const BROWSERS: readonly BrowserFamily[] = ['other', 'chromium', 'firefox', 'safari'];
const SYSTEMS: readonly SystemFamily[] = ['other', 'windows', 'macos', 'linux', 'android', 'ios', 'chromeos'];
const FORMS = ['other', 'desktop', 'mobile', 'tablet'] as const satisfies readonly AgentFacts['form'][];
export const AUTOMATIONS = ['none', 'bot', 'http_library', 'headless', 'ai'] as const;

export interface AgentClass {
  readonly browser: BrowserFamily;
  readonly system: SystemFamily;
  readonly form: AgentFacts['form'];
  readonly automation: (typeof AUTOMATIONS)[number];
  /** Name of the crawler that it names. */
  readonly claimed: string | null;
  /** Null if it names none, or nothing can be known. */
  readonly verified: AgentVerification | null;
  readonly operator: string | null;
  readonly purpose: AgentPurpose | null;
}

/** Rounded to a tenth of a degree, some 11 km. */
export interface CoarseLocation {
  readonly latitude: number;
  readonly longitude: number;
  /** Null if the database gives none. */
  readonly accuracyKm: number | null;
}

export interface RecordClass {
  readonly agent: AgentClass | null;
  readonly location: CoarseLocation | null;
}

const GIVEN = 0x80;
const ACCURACY_UNKNOWN = 0xffff;

/**
 * Writes them at `at`; returns the number of bytes, 0 if nothing is known. What a request of a public key proves is not kept: anybody can
 * send it with any address.
 */
export function writeClass(
  target: Buffer,
  at: number,
  { agent, geo, agentProof }: Pick<Facts, 'agent' | 'geo' | 'agentProof'>,
  publicKey: boolean,
): number {
  const isLocated = geo !== null && geo.latitude !== null && geo.longitude !== null;
  if (agent === null && !isLocated) return 0;
  target[at] = agent === null ? 0 : agentByte(agent);
  target[at + 1] = agent === null ? 0 : automationOf(agent);
  if (isLocated) {
    writeU16(target, at + 2, tenths(geo.latitude ?? 0, 90));
    writeU16(target, at + 4, tenths(geo.longitude ?? 0, 180));
    writeU16(target, at + 6, accuracyOf(geo));
  }
  const length = isLocated ? LOCATED_BYTES : AGENT_BYTES;
  // A signed request may name no crawler in its user agent.
  const claimed = (publicKey ? null : agentProof) ?? agent?.claimed ?? null;
  if (claimed === null) return length;
  target[at + length] = claimed.number;
  const verified = publicKey ? undefined : agentProof?.verified;
  target[at + length + 1] = verified === undefined ? 0 : AGENT_VERIFICATIONS.indexOf(verified) + 1;
  return length + CLAIM_BYTES;
}

/** Also writes a negative number, as `writeInt16BE` does. */
function writeU16(target: Buffer, at: number, value: number): void {
  target[at] = value >> 8;
  target[at + 1] = value;
}

export function readClass(bytes: Buffer): RecordClass {
  const byte = bytes[0] ?? 0;
  const agent =
    (byte & GIVEN) === 0
      ? null
      : {
          browser: BROWSERS[byte & 3] ?? 'other',
          system: SYSTEMS[(byte >> 2) & 7] ?? 'other',
          form: FORMS[(byte >> 5) & 3] ?? 'other',
          automation: AUTOMATIONS[bytes[1] ?? 0] ?? 'none',
          ...readClaim(bytes, 0, bytes.length),
        };
  if (bytes.length < LOCATED_BYTES) return { agent, location: null };
  const accuracyKm = bytes.readUInt16BE(6);
  return {
    agent,
    location: {
      latitude: bytes.readInt16BE(2) / 10,
      longitude: bytes.readInt16BE(4) / 10,
      accuracyKm: accuracyKm === ACCURACY_UNKNOWN ? null : accuracyKm,
    },
  };
}

/** Reads the claim of a class in `bytes` from `at` to `end`. */
export function readClaim(
  bytes: Buffer,
  at: number,
  end: number,
): Pick<AgentClass, 'claimed' | 'verified' | 'operator' | 'purpose'> {
  const length = end - at;
  const isClaim = length === AGENT_BYTES + CLAIM_BYTES || length === LOCATED_BYTES + CLAIM_BYTES;
  const agent = isClaim ? agentOfNumber(bytes[end - CLAIM_BYTES] ?? 0) : null;
  if (agent === null) return NO_CLAIM;
  const verified = AGENT_VERIFICATIONS[(bytes[end - 1] ?? 0) - 1] ?? null;
  return { claimed: agent.name, verified, operator: agent.operator, purpose: agent.purpose };
}

const NO_CLAIM = { claimed: null, verified: null, operator: null, purpose: null };

function agentByte({ browser, system, form }: AgentFacts): number {
  return (
    GIVEN |
    Math.max(0, BROWSERS.indexOf(browser)) |
    (Math.max(0, SYSTEMS.indexOf(system)) << 2) |
    (Math.max(0, FORMS.indexOf(form)) << 5)
  );
}

function automationOf({ bot, httpLibrary, headless, aiAgent }: AgentFacts): number {
  if (aiAgent !== null) return 4;
  if (headless !== null) return 3;
  if (httpLibrary !== null) return 2;
  return bot === null ? 0 : 1;
}

/** A database may contain NaN or numbers outside the globe. */
function tenths(degrees: number, degreesMax: number): number {
  const rounded = Math.round(Math.min(degreesMax, Math.max(-degreesMax, degrees)) * 10);
  return Number.isNaN(rounded) ? 0 : rounded;
}

function accuracyOf({ accuracyKm }: GeoFacts): number {
  if (accuracyKm === null || !(accuracyKm >= 0)) return ACCURACY_UNKNOWN;
  return Math.min(ACCURACY_UNKNOWN - 1, Math.round(accuracyKm));
}
