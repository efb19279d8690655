import { createHash } from 'node:crypto';
import type { Country } from './calendar.ts';
import type { Random } from './random.ts';

/** A browser or an app on one machine. */
export interface Device {
  readonly name: string;
  readonly agent: string;
  /** 64 hex digits, as a collector would compute it. */
  readonly fingerprint: string;
  readonly language: string;
  /** Signals that a collector reads. */
  readonly signals: Readonly<Record<string, unknown>>;
}

const LANGUAGES: Readonly<Record<Country, readonly (readonly [string, number])[]>> = {
  DE: [
    ['de-DE,de;q=0.9,en;q=0.6', 80],
    ['en-GB,en;q=0.9', 10],
    ['tr-TR,tr;q=0.9,de;q=0.7', 6],
  ],
  IT: [
    ['it-IT,it;q=0.9,en;q=0.5', 90],
    ['en-US,en;q=0.9', 8],
  ],
  CA: [
    ['en-CA,en;q=0.9', 68],
    ['fr-CA,fr;q=0.9,en;q=0.6', 24],
    ['en-US,en;q=0.9', 8],
  ],
};
const ZONES: Readonly<Record<Country, readonly (readonly [string, number])[]>> = {
  DE: [['Europe/Berlin', 1]],
  IT: [['Europe/Rome', 1]],
  CA: [
    ['America/Toronto', 60],
    ['America/Vancouver', 20],
    ['America/Edmonton', 20],
  ],
};

/** One browser on one kind of machine. */
export interface Make {
  /** `{n}` is replaced by the version. */
  readonly agent: string;
  readonly versions: readonly (readonly [string, number])[];
  readonly platform: string;
  readonly touch: number;
  readonly plugins: number;
  readonly screens: readonly (readonly [number, number])[];
}

const DESKTOP_SCREENS = [
  [1920, 1080],
  [1536, 864],
  [2560, 1440],
  [1366, 768],
  [1440, 900],
] as const;
const PHONE_SCREENS = [
  [390, 844],
  [412, 915],
  [393, 852],
  [360, 800],
] as const;
const CHROME = [
  ['156', 55],
  ['155', 30],
  ['154', 9],
  ['150', 4],
  ['144', 2],
] as const;
const FIREFOX = [
  ['159', 70],
  ['158', 20],
  ['153', 10],
] as const;
const IOS = [
  ['27.0', 50],
  ['26.3', 35],
  ['18.6', 15],
] as const;

type Weighted = readonly (readonly [Make, number])[];

/** Chrome and Edge, by their frequency. */
export const CHROMIUM_DESKTOPS: Weighted = [
  [desktop('Windows NT 10.0; Win64; x64', 'Win32', 'Chrome/{n}.0.0.0 Safari/537.36', CHROME), 46],
  [desktop('Windows NT 10.0; Win64; x64', 'Win32', 'Chrome/{n}.0.0.0 Safari/537.36 Edg/{n}.0.0.0', CHROME), 18],
  [desktop('Macintosh; Intel Mac OS X 10_15_7', 'MacIntel', 'Chrome/{n}.0.0.0 Safari/537.36', CHROME), 9],
  [desktop('X11; Linux x86_64', 'Linux x86_64', 'Chrome/{n}.0.0.0 Safari/537.36', CHROME), 2],
];

/** Firefox and Safari. */
export const OTHER_DESKTOPS: Weighted = [
  [firefox('Windows NT 10.0; Win64; x64', 'Win32'), 11],
  [firefox('X11; Linux x86_64', 'Linux x86_64'), 2],
  [
    {
      agent:
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{n} Safari/605.1.15',
      versions: IOS,
      platform: 'MacIntel',
      touch: 0,
      plugins: 5,
      screens: DESKTOP_SCREENS,
    },
    12,
  ],
];

const DESKTOPS: Weighted = [...CHROMIUM_DESKTOPS, ...OTHER_DESKTOPS];

export const IPHONES: Weighted = [
  [
    phone(
      '(iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{n} Mobile/15E148 Safari/604.1',
      IOS,
      'iPhone',
    ),
    44,
  ],
];

/** Chrome and Samsung Internet. */
export const ANDROIDS: Weighted = [
  [
    phone(
      '(Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{n}.0.0.0 Mobile Safari/537.36',
      CHROME,
      'Linux armv81',
    ),
    44,
  ],
  [
    phone(
      '(Linux; Android 15; SAMSUNG SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/30.0 Chrome/{n}.0.0.0 Mobile Safari/537.36',
      [['144', 1]],
      'Linux armv81',
    ),
    12,
  ],
];

const PHONES: Weighted = [...IPHONES, ...ANDROIDS];

/** Rare devices: appliances, machines without updates, niche browsers. */
const ODD: readonly Make[] = [
  phone(
    '(Linux; Android 7.0; SM-G920F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{n}.0.0.0 Mobile Safari/537.36',
    [
      ['79', 1],
      ['94', 1],
    ],
    'Linux armv7l',
  ),
  phone(
    '(iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{n} Mobile/15E148 Safari/604.1',
    [['12.1.2', 1]],
    'iPhone',
  ),
  desktop('Windows NT 6.1; Win64; x64', 'Win32', 'Chrome/{n}.0.0.0 Safari/537.36', [
    ['109', 1],
    ['87', 1],
  ]),
  {
    ...firefox('Windows NT 6.1; rv', 'Win32'),
    versions: [
      ['78', 1],
      ['115', 1],
    ],
  },
  desktop('SMART-TV; LINUX; Tizen 6.0', 'Linux armv7l', 'Version/6.0 TV Chrome/{n}.0.0.0 Safari/537.36', [['76', 1]]),
  desktop('PlayStation; PlayStation 5/9.00', '', 'Version/{n}.0 Safari/605.1.15', [['15', 1]]),
  desktop('X11; CrOS x86_64 14541.0.0', 'Linux x86_64', 'Chrome/{n}.0.0.0 Safari/537.36', CHROME),
  phone(
    '(Linux; U; Android 11; M2006C3LG) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/{n}.0.0.0 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.9.1',
    [['100', 1]],
    'Linux armv7l',
  ),
];

/** User agents of apps, by operating system. */
const APPS = (name: string): readonly (readonly [string, number])[] => [
  [`${name}/5.14.2 (com.${name}.android; build:514; Android 15) okhttp/4.12.0`, 40],
  [`${name}/5.13.0 (com.${name}.android; build:513; Android 14) okhttp/4.12.0`, 12],
  [`${name}/514 CFNetwork/3826.500.111 Darwin/25.0.0`, 38],
  [`${name}/511 CFNetwork/1568.300.101 Darwin/24.2.0`, 10],
];

/** Number of popular models whose phones are all indistinguishable to the collector. */
export const COMMON_MODELS = 3;

export class DeviceMaker {
  #made = 0;
  readonly #seed: string;

  constructor(seed: string) {
    this.#seed = seed;
  }

  desktop(country: Country, random: Random): Device {
    return this.#make(random.weighted(DESKTOPS), country, random);
  }

  phone(country: Country, random: Random): Device {
    return this.#make(random.weighted(PHONES), country, random);
  }

  odd(country: Country, random: Random): Device {
    return this.#make(random.pick(ODD), country, random);
  }

  /** Returns the same fingerprint, agent and signals for every owner of the model. */
  commonPhone(model: number, country: Country): Device {
    const version = ['27.0', '26.3', '156'][model] ?? '27.0';
    const make = PHONES[model === 2 ? 1 : 0]?.[0] ?? firefox('', '');
    const language = LANGUAGES[country][0]?.[0] ?? 'en';
    return deviceOf(make, version, `model ${model} ${country}`, language, ZONES[country][0]?.[0] ?? 'UTC', [390, 844]);
  }

  /** `appName` must consist of letters. */
  app(appName: string, country: Country, random: Random): Device {
    const agent = random.weighted(APPS(appName));
    const name = this.#nextName();
    return { name, agent, fingerprint: hashOf(name), language: random.weighted(LANGUAGES[country]), signals: {} };
  }

  #make(make: Make, country: Country, random: Random): Device {
    const language = random.weighted(LANGUAGES[country]);
    return deviceOf(
      make,
      random.weighted(make.versions),
      this.#nextName(),
      language,
      random.weighted(ZONES[country]),
      random.pick(make.screens),
    );
  }

  #nextName(): string {
    return `${this.#seed} device ${++this.#made}`;
  }
}

/** Creates a device. `language` is its Accept-Language header; devices of one name have one fingerprint. */
export function deviceOf(
  make: Make,
  version: string,
  name: string,
  language: string,
  zone: string,
  [width, height]: readonly [number, number],
): Device {
  return {
    name,
    agent: make.agent.replaceAll('{n}', version),
    fingerprint: hashOf(name),
    language,
    signals: {
      webdriver: false,
      plugins: make.plugins,
      languages: language.split(',').map((part) => part.split(';')[0] ?? part),
      platform: make.platform,
      touch: make.touch,
      width,
      height,
      tz: zone,
    },
  };
}

export function desktop(system: string, platform: string, browser: string, versions: Make['versions']): Make {
  return {
    agent: `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${browser}`,
    versions,
    platform,
    touch: 0,
    plugins: 5,
    screens: DESKTOP_SCREENS,
  };
}

export function firefox(system: string, platform: string): Make {
  return {
    agent: `Mozilla/5.0 (${system}; rv:{n}.0) Gecko/20100101 Firefox/{n}.0`.replace('rv; rv', 'rv'),
    versions: FIREFOX,
    platform,
    touch: 0,
    plugins: 5,
    screens: DESKTOP_SCREENS,
  };
}

export function phone(agent: string, versions: Make['versions'], platform: string): Make {
  return { agent: `Mozilla/5.0 ${agent}`, versions, platform, touch: 5, plugins: 0, screens: PHONE_SCREENS };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
