import {
  ANDROIDS as USUAL_ANDROIDS,
  CHROMIUM_DESKTOPS as USUAL_CHROMIUM,
  desktop,
  firefox,
  IPHONES as USUAL_IPHONES,
  OTHER_DESKTOPS as USUAL_OTHERS,
  phone,
  type Device,
  type Make,
} from '../traffic/devices.ts';

/** The browsers of the demo: those of the generated traffic, and some that only a persona of the demo uses. */

const APPLE = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

const iphone = (tail: string, system = '18_7'): Make =>
  phone(`(iPhone; CPU iPhone OS ${system} like Mac OS X) ${APPLE} ${tail}`, [['1', 1]], 'iPhone');
const webView = (tail: string, system: string): Make =>
  phone(`(Linux; Android ${system}; wv) ${WEBKIT} Version/4.0 Chrome/${tail}`, [['1', 1]], 'Linux armv81');
const makesOf = (weighted: readonly (readonly [Make, number])[]): readonly Make[] => weighted.map(([make]) => make);

export const CHROMIUM_DESKTOPS: readonly Make[] = [
  ...makesOf(USUAL_CHROMIUM),
  desktop('X11; CrOS x86_64 14541.0.0', 'Linux x86_64', 'Chrome/{n}.0.0.0 Safari/537.36', [['156', 1]]),
];
export const OTHER_DESKTOPS: readonly Make[] = makesOf(USUAL_OTHERS);
export const IPHONES: readonly Make[] = [
  ...makesOf(USUAL_IPHONES),
  iphone('CriOS/157.0.7300.50 Mobile/15E148 Safari/604.1'),
  iphone('FxiOS/160.0 Mobile/15E148 Safari/605.1.15'),
];
export const ANDROIDS: readonly Make[] = [
  ...makesOf(USUAL_ANDROIDS),
  phone('(Android 15; Mobile; rv:{n}.0) Gecko/{n}.0 Firefox/{n}.0', [['160', 1]], 'Linux aarch64'),
];
export const WEB_VIEWS: readonly Make[] = [
  iphone(
    'Mobile/15E148 Instagram 400.0.0.30.75 (iPhone15,2; iOS 18_6_2; de_DE; de; scale=3.00; 1179x2556; 793912345)',
    '18_6_2',
  ),
  iphone('GSA/390.0.812345678 Mobile/15E148 Safari/604.1'),
  webView(
    '157.0.7300.60 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/530.0.0.40.100;IABMV/1;]',
    '15; SM-S921B Build/AP3A.240905.015.A2',
  ),
  webView('156.0.7250.90 Mobile Safari/537.36', '14; Pixel 7a Build/UQ1A.240205.002'),
];
/** An iPad requests the desktop site and identifies itself as a Mac; only touch points and screen size differ. */
export const IPAD_AS_MAC: Make = {
  ...desktop('Macintosh; Intel Mac OS X 10_15_7', 'MacIntel', '', []),
  agent: `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${APPLE} Version/{n} Safari/605.1.15`,
  versions: [['26.1', 1]],
  touch: 5,
  screens: [[1_024, 1_366]],
};
/** Firefox that hides its operating system and its time zone. */
export const HIDING_FIREFOX: Make = firefox('Windows NT 10.0; Win64; x64', 'Win32');

export const EVERYDAY: readonly Make[] = [...CHROMIUM_DESKTOPS, ...OTHER_DESKTOPS, ...IPHONES, ...ANDROIDS];

/** TLS fingerprints of browsers. Source: src/risk/signals/tls-fingerprints.ts. */
const CHROME_JA4 = 't13d1516h2_8daaf6152771_806a8c22fdea';
const SAFARI_JA4 = 't13d2013h2_a09f3c656075_7f0f34a4126d';

/** Returns the TLS fingerprint of the device's browser, or null when none is published. */
export function ja4Of({ agent }: Device): string | null {
  if (/ Version\/[\d.]+ (?:Mobile\/\w+ )?Safari\//.test(agent)) return SAFARI_JA4;
  return / Chrome\//.test(agent) && !/Samsung|; wv\)/.test(agent) ? CHROME_JA4 : null;
}

/** Returns the client hints that Chrome and its relatives send, or null for other browsers. */
export function hintOf({ agent }: Device): { readonly platform: string; readonly mobile: boolean } | null {
  if (!/ Chrome\//.test(agent)) return null;
  const [, platform] = [
    ['Android', 'Android'] as const,
    ['Windows', 'Windows'] as const,
    ['Macintosh', 'macOS'] as const,
    ['CrOS', 'Chrome OS'] as const,
  ].find(([system]) => agent.includes(system)) ?? ['', 'Linux'];
  return { platform, mobile: platform === 'Android' };
}
