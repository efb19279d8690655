import { readAutomation, readWebView } from './automation-codes.ts';
import type { DeviceMakeup } from './device-makeup.ts';
import type { GrantHolder } from './grant-holder.ts';
import type { InputCadence } from './input-cadence.ts';
import type { KeptIds } from './kept-ids.ts';
import { hmacSha256, toBase64url } from './sha256.ts';

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
  if (granted === null) return `st1.${toBase64url(JSON.stringify(body))}`;
  granted.seq++;
  const json = JSON.stringify({ ...body, g: granted.grant, seq: granted.seq, aud: location.origin });
  return `st2.${toBase64url(json)}.${toBase64url(hmacSha256(granted.nonce, json))}`;
}

function readSignals({ cadence, makeup, codes, hiddenMs }: TokenParts): Record<string, unknown> {
  const { webdriver, plugins, languages, platform, maxTouchPoints, userAgentData } = navigator;
  const webView = readWebView();
  return {
    webdriver,
    plugins: plugins.length,
    languages: languages.slice(0, LANGUAGES_MAX).map(cut),
    platform: cut(platform),
    touch: maxTouchPoints,
    width: screen.width,
    height: screen.height,
    tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    tzo: new Date().getTimezoneOffset(),
    ...(userAgentData === undefined
      ? {}
      : {
          mobile: userAgentData.mobile,
          platform_hint: cut(userAgentData.platform),
          brands: userAgentData.brands.slice(0, BRANDS_MAX).map(({ brand, version }) => cut(`${brand} ${version}`)),
        }),
    ...(makeup === null || makeup.gl === null ? {} : { gl: makeup.gl }),
    dpr: Math.round(devicePixelRatio * 100) / 100,
    inner: [innerWidth, innerHeight],
    auto: [...readAutomation(makeup?.gl ?? null, cadence.syntheticShare), ...codes],
    beat: cadence.read(),
    age_ms: Math.round(performance.now() - cadence.startedMs),
    vis: Math.round(hiddenMs()),
    ...(webView === null ? {} : { wv: webView }),
    q: makeup?.q ?? 0,
  };
}

function cut(text: string): string {
  return text.slice(0, TEXT_CHARACTERS_MAX);
}
