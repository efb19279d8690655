import { loadSources, sources } from '@fingerprintjs/fingerprintjs';
import { eachOwn, toJsonText } from './page-proof.ts';
import { sha256, toHex } from './sha256.ts';

/** Properties of the device, as hashes. Two devices of one model have the same makeup: it names a class of devices, not a person. */
export interface DeviceMakeup {
  /** SHA-256 of the components that stay the same when a person travels, changes the language or plugs in a screen; 64 hex digits. */
  readonly fp: string;
  /** SHA-256 of all components; null until they are read. */
  fpx: string | null;
  /** Which groups of `fp` could be read: 1 the machine, 2 the graphics, 3 both. */
  readonly q: number;
  /** Name of the graphics hardware, at most 64 characters; null if the browser hides it. */
  readonly gl: string | null;
}

/**
 * The components in `fp`. Choice: they do not depend on language, place, window, screen, theme or user agent. `colorDepth` and `colorGamut`
 * are left out because a second screen changes them.
 * Measured: docs/collector.md, "Stability".
 */
const STABLE = {
  architecture: sources.architecture,
  audioBaseLatency: sources.audioBaseLatency,
  cpuClass: sources.cpuClass,
  deviceMemory: sources.deviceMemory,
  hardwareConcurrency: sources.hardwareConcurrency,
  math: sources.math,
  osCpu: sources.osCpu,
  pdfViewerEnabled: sources.pdfViewerEnabled,
  platform: sources.platform,
  plugins: sources.plugins,
  touchSupport: sources.touchSupport,
  vendor: sources.vendor,
  vendorFlavors: sources.vendorFlavors,
  webGlBasics: sources.webGlBasics,
};

/**
 * Sources of `fpx` beyond those of `fp`. Seven sources of the library are not read, and the bundle does not contain them: `fonts` and
 * `fontPreferences` make an iframe with inline markup, which a policy with Trusted Types reports; `domBlockers` inserts elements that
 * content blockers hide; four try whether the browser's storage works.
 */
const REST = {
  userAgentData: sources.userAgentData,
  audio: sources.audio,
  screenFrame: sources.screenFrame,
  canvas: sources.canvas,
  languages: sources.languages,
  colorDepth: sources.colorDepth,
  screenResolution: sources.screenResolution,
  timezone: sources.timezone,
  colorGamut: sources.colorGamut,
  invertedColors: sources.invertedColors,
  forcedColors: sources.forcedColors,
  monochrome: sources.monochrome,
  contrast: sources.contrast,
  reducedMotion: sources.reducedMotion,
  reducedTransparency: sources.reducedTransparency,
  hdr: sources.hdr,
  applePay: sources.applePay,
  privateClickMeasurement: sources.privateClickMeasurement,
  dateTimeLocale: sources.dateTimeLocale,
  webGlExtensions: sources.webGlExtensions,
};

/** Choice: the reading pauses after this time, so that no task of the page waits for the rest. */
const PAUSE_AFTER_MS = 8;
/** Choice: `fpx` waits for the page's own work; it is evidence for later, not for the first decision. */
const REST_AFTER_MS = 1_500;
const GRAPHICS_CHARACTERS_MAX = 64;

export type Components = Readonly<Record<string, { readonly value?: unknown; readonly error?: unknown }>>;

/** Reads the stable components at once and the others later. */
export async function readMakeup(): Promise<DeviceMakeup> {
  const cache = {};
  // The script's own evaluation and the reading are two tasks.
  await new Promise((resolve) => setTimeout(resolve));
  const stable: Components = await loadSources(STABLE, { cache }, [], PAUSE_AFTER_MS)();
  const graphics = stable['webGlBasics']?.value;
  const { rendererUnmasked = '', renderer = '' } = (typeof graphics === 'object' ? graphics : {}) as Record<
    string,
    string
  >;
  const gl = (rendererUnmasked || renderer).slice(0, GRAPHICS_CHARACTERS_MAX);
  const makeup: DeviceMakeup = {
    fp: hashOf(stable),
    fpx: null,
    q: (stable['platform']?.value === undefined ? 0 : 1) + (typeof graphics === 'object' ? 2 : 0),
    gl: gl === '' ? null : gl,
  };
  setTimeout(() => {
    const read = loadSources(REST, { cache }, [], PAUSE_AFTER_MS);
    void read().then(
      (rest) => (makeup.fpx = hashOf({ ...stable, ...rest })),
      () => null,
    );
  }, REST_AFTER_MS);
  return makeup;
}

/** Hashes names and values in the order of the names. A component that failed counts as such, whatever the error. */
export function hashOf(components: Components): string {
  const lines: string[] = [];
  eachOwn(components, (name, { value, error }) =>
    lines.push(`${name}=${error === undefined ? withoutVersions(value) : 'failed'}`),
  );
  return toHex(sha256(lines.sort().join('\n')));
}

/** A graphics driver has its version in its name; an update of the driver does not make a new device. */
function withoutVersions(value: unknown): string {
  return (toJsonText(value) ?? 'absent').replaceAll(/\d+(?:\.\d+)+/g, '#');
}
