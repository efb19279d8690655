import { readAutomation, readWebView } from './automation-codes.ts';
import type { DeviceMakeup } from './device-makeup.ts';
import type { GrantHolder } from './grant-holder.ts';
import type { InputCadence } from './input-cadence.ts';
import type { KeptIds } from './kept-ids.ts';
import { attempt, eachOwn, mapUpTo, toJsonText } from './page-proof.ts';
import { hmacOfPage, toBase64url } from './sha256.ts';

const LANGUAGES_MAX = 8;
const BRANDS_MAX = 4;
const TEXT_CHARACTERS_MAX = 64;

export interface TokenParts {
  readonly ids: KeptIds;
  readonly cadence: InputCadence;
  readonly grants: GrantHolder;
  /** Milliseconds for which the page was hidden. */
  readonly hiddenMs: () => number;
  /** Codes found once, in addition to those read for each token. */
  readonly codes: readonly string[];
  /** Null in minimal mode, and until it is read. */
  readonly makeup: DeviceMakeup | null;
}

/**
 * Writes a token: `st1.` without a grant, otherwise `st2.` with the grant, the next number and an HMAC. Returns at once.
 * Source: contract, 4.5 and 17.3.
 */
export function writeToken(parts: TokenParts): string {
  const { ids, makeup, grants } = parts;
  const body = {
    v: 1,
    // Absent in minimal mode: the server then derives a fingerprint, which lists can name and device rules ignore.
    ...(makeup === null ? {} : { fp: makeup.fp }),
    ...(makeup === null || makeup.fpx === null ? {} : { fpx: makeup.fpx }),
    sid: ids.sid,
    ...(ids.did === null ? {} : { did: ids.did }),
    iat: Math.floor(Date.now() / 1_000),
    sig: readSignals(parts),
  };
  const granted = grants.current;
  if (granted === null) return `st1.${toBase64url(toJsonText(body) ?? '')}`;
  granted.seq++;
  const json = toJsonText({ ...body, g: granted.grant, seq: granted.seq, aud: location.origin }) ?? '';
  return `st2.${toBase64url(json)}.${toBase64url(hmacOfPage(granted.nonce, json))}`;
}

/** Each signal by itself: one that the browser refuses, or that another script has broken, is absent. */
function readSignals({ cadence, makeup, codes, hiddenMs }: TokenParts): Record<string, unknown> {
  const readers: Readonly<Record<string, () => unknown>> = {
    webdriver: () => navigator.webdriver,
    plugins: () => navigator.plugins.length,
    languages: () => mapUpTo(navigator.languages, LANGUAGES_MAX, cut),
    platform: () => cut(navigator.platform),
    touch: () => navigator.maxTouchPoints,
    width: () => screen.width,
    height: () => screen.height,
    tz: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
    tzo: () => new Date().getTimezoneOffset(),
    mobile: () => navigator.userAgentData?.mobile,
    platform_hint: () => navigator.userAgentData && cut(navigator.userAgentData.platform),
    brands: () =>
      navigator.userAgentData &&
      mapUpTo(navigator.userAgentData.brands, BRANDS_MAX, ({ brand, version }) => cut(`${brand} ${version}`)),
    gl: () => makeup?.gl ?? undefined,
    dpr: () => Math.round(devicePixelRatio * 100) / 100,
    inner: () => [innerWidth, innerHeight],
    auto: () => [...readAutomation(makeup?.gl ?? null, cadence.syntheticShare), ...codes],
    beat: () => cadence.read(),
    age_ms: () => Math.round(performance.now() - cadence.startedMs),
    vis: () => Math.round(hiddenMs()),
    wv: () => readWebView() ?? undefined,
    q: () => makeup?.q ?? 0,
  };
  const signals: Record<string, unknown> = {};
  eachOwn(readers, (name, read) => (signals[name] = attempt(read)));
  return signals;
}

function cut(text: string): string {
  return text.slice(0, TEXT_CHARACTERS_MAX);
}
