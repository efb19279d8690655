/** A browser as a shop sees it: its user agent, and the signals that the collector script reads in it. */
export interface Browser {
  readonly name: string;
  readonly userAgent: string;
  /** `navigator.platform`. */
  readonly platform: string;
  /** Client hints, sent only by Chromium. */
  readonly hint: { readonly platform: string; readonly mobile: boolean } | null;
  readonly touchPoints: number;
  readonly screen: readonly [width: number, height: number];
  readonly plugins: number;
  /** Set only where a value is published; src/risk/signals/tls-fingerprints.ts names the sources. */
  readonly ja4: string | null;
}

const CHROME_JA4 = 't13d1516h2_8daaf6152771_806a8c22fdea';
const FIREFOX_ESR_JA4 = 't13d1717h2_5b57614c22b0_3cbfd9057e0d';
const SAFARI_JA4 = 't13d2013h2_a09f3c656075_7f0f34a4126d';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const APPLE_WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const DESKTOP = { touchPoints: 0, screen: [1_920, 1_080], plugins: 5 } as const;
const ANDROID = {
  platform: 'Linux armv81',
  hint: { platform: 'Android', mobile: true },
  touchPoints: 5,
  screen: [412, 915],
  plugins: 0,
} as const;
const IPHONE = { platform: 'iPhone', hint: null, touchPoints: 5, screen: [393, 852], plugins: 0 } as const;
const MAC = { ...DESKTOP, platform: 'MacIntel', hint: null, screen: [1_728, 1_117] } as const;

function chrome(system: 'Windows' | 'macOS' | 'Linux' | 'Chrome OS', major: number, edge = false): Browser {
  const [text, platform] = {
    Windows: ['Windows NT 10.0; Win64; x64', 'Win32'] as const,
    macOS: ['Macintosh; Intel Mac OS X 10_15_7', 'MacIntel'] as const,
    Linux: ['X11; Linux x86_64', 'Linux x86_64'] as const,
    'Chrome OS': ['X11; CrOS x86_64 14541.0.0', 'Linux x86_64'] as const,
  }[system];
  const tail = edge ? ` Edg/${major}.0.0.0` : '';
  return {
    ...DESKTOP,
    name: `${edge ? 'Edge' : 'Chrome'} on ${system}`,
    userAgent: `Mozilla/5.0 (${text}) ${WEBKIT} Chrome/${major}.0.0.0 Safari/537.36${tail}`,
    platform,
    hint: { platform: system, mobile: false },
    ja4: CHROME_JA4,
  };
}

function firefox(system: string, platform: string, major: number, ja4: string | null): Browser {
  return {
    ...DESKTOP,
    name: `Firefox ${major}`,
    userAgent: `Mozilla/5.0 (${system}; rv:${major}.0) Gecko/20100101 Firefox/${major}.0`,
    platform,
    hint: null,
    ja4,
  };
}

function safari(version: string): Browser {
  const userAgent = `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${APPLE_WEBKIT} Version/${version} Safari/605.1.15`;
  return { ...MAC, name: `Safari ${version}`, userAgent, ja4: SAFARI_JA4 };
}

function iphone(name: string, tail: string, ja4: string | null, system = '18_7'): Browser {
  const userAgent = `Mozilla/5.0 (iPhone; CPU iPhone OS ${system} like Mac OS X) ${APPLE_WEBKIT} ${tail}`;
  return { ...IPHONE, name, userAgent, ja4 };
}

function android(name: string, products: string, device = 'Linux; Android 10; K'): Browser {
  return { ...ANDROID, name, userAgent: `Mozilla/5.0 (${device}) ${WEBKIT} ${products}`, ja4: null };
}

export const CHROMIUM_DESKTOPS: readonly Browser[] = [
  chrome('Windows', 157),
  chrome('Windows', 158),
  chrome('Windows', 156),
  chrome('macOS', 157),
  chrome('Linux', 157),
  chrome('Chrome OS', 156),
  chrome('Windows', 157, true),
  chrome('macOS', 157, true),
];

export const OTHER_DESKTOPS: readonly Browser[] = [
  firefox('Windows NT 10.0; Win64; x64', 'Win32', 160, null),
  firefox('Macintosh; Intel Mac OS X 10.15', 'MacIntel', 159, null),
  firefox('X11; Linux x86_64', 'Linux x86_64', 140, FIREFOX_ESR_JA4),
  safari('26.1'),
  safari('27.0'),
  safari('18.6'),
];

export const IPHONES: readonly Browser[] = [
  iphone('Safari on iPhone', 'Version/26.1 Mobile/15E148 Safari/604.1', SAFARI_JA4),
  iphone('Safari on iPhone', 'Version/27.0 Mobile/15E148 Safari/604.1', null),
  iphone('Safari on iPhone', 'Version/17.6 Mobile/15E148 Safari/604.1', null, '17_6_1'),
  iphone('Chrome on iPhone', 'CriOS/157.0.7300.50 Mobile/15E148 Safari/604.1', null),
  iphone('Firefox on iPhone', 'FxiOS/160.0 Mobile/15E148 Safari/605.1.15', null),
];

export const ANDROIDS: readonly Browser[] = [
  { ...android('Chrome on Android', 'Chrome/157.0.0.0 Mobile Safari/537.36'), ja4: CHROME_JA4 },
  android('Chrome on Android', 'Chrome/156.0.0.0 Mobile Safari/537.36'),
  android('Samsung Internet', 'SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36'),
  android('Samsung Internet', 'SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36'),
  {
    ...ANDROID,
    name: 'Firefox on Android',
    userAgent: 'Mozilla/5.0 (Android 15; Mobile; rv:160.0) Gecko/160.0 Firefox/160.0',
    platform: 'Linux aarch64',
    hint: null,
    ja4: null,
  },
];

export const WEB_VIEWS: readonly Browser[] = [
  iphone(
    'Instagram on iPhone',
    'Mobile/15E148 Instagram 400.0.0.30.75 (iPhone15,2; iOS 18_6_2; de_DE; de; scale=3.00; 1179x2556; 793912345)',
    null,
    '18_6_2',
  ),
  iphone('Google app on iPhone', 'GSA/390.0.812345678 Mobile/15E148 Safari/604.1', null),
  android(
    'Facebook on Android',
    'Version/4.0 Chrome/157.0.7300.60 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/530.0.0.40.100;IABMV/1;]',
    'Linux; Android 15; SM-S921B Build/AP3A.240905.015.A2; wv',
  ),
  android(
    'web view of an app',
    'Version/4.0 Chrome/156.0.7250.90 Mobile Safari/537.36',
    'Linux; Android 14; Pixel 7a Build/UQ1A.240205.002; wv',
  ),
];

/** An iPad requests the desktop site and identifies itself as a Mac; only touch points and screen size differ. */
export const IPAD_AS_MAC: Browser = { ...safari('26.1'), name: 'iPad', touchPoints: 5, screen: [1_024, 1_366] };
/** Firefox that hides its operating system and its time zone. */
export const HIDING_FIREFOX: Browser = firefox('Windows NT 10.0; Win64; x64', 'Win32', 160, null);

export const EVERYDAY: readonly Browser[] = [...CHROMIUM_DESKTOPS, ...OTHER_DESKTOPS, ...IPHONES, ...ANDROIDS];
