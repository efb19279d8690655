import { attempt, readProperty } from './page-proof.ts';

/**
 * Traces of automation, as codes for `sig.auto`. Each is a hint with known false alarms, which docs/collector.md lists; the server weighs
 * them.
 */
export interface AgentBrand {
  readonly brand: string;
  readonly version: string;
}

declare global {
  interface Navigator {
    /** Chromium only. */
    readonly userAgentData?: {
      readonly brands: readonly AgentBrand[];
      readonly mobile: boolean;
      readonly platform: string;
    };
  }
}

const DRIVER_NAME = /^\$?cdc_|^\$chrome_asyncScriptInfo$/;
const PLAYWRIGHT_NAME = /^__(?:playwright|pw[A-Z_])/;
const SELENIUM_NAME =
  /^_?_?(?:selenium|webdriver|fxdriver|driver)_|^_Selenium|^callSelenium$|^_selenium$|^domAutomation|^_?_?nightmare$|^callPhantom$|^_phantom$/i;
const SOFTWARE_RENDERER = /swiftshader|llvmpipe|softpipe|software rasterizer|basic render/i;

/** Names of functions that the browser itself provides read `[native code]` as their source. */
function isNative(getter: unknown): boolean {
  return typeof getter === 'function' && Function.prototype.toString.call(getter).includes('[native code]');
}

/** Reads the current codes. `graphics` is the renderer's name; `syntheticShare` the share of events that scripts made, 0 to 1. */
export function readAutomation(graphics: string | null, syntheticShare: number): string[] {
  const codes: string[] = [];
  // A code whose evidence cannot be read is absent.
  const add = (code: string, isThere: () => boolean): void => {
    if (attempt(isThere) === true) codes.push(code);
  };
  add('webdriver', () => navigator.webdriver);
  add('nav_own', () => Object.getOwnPropertyNames(navigator).length > 0);
  add('wd_patched', isWebdriverPatched);
  add('no_frame', hasNoFrame);
  add('soft_gl', () => graphics !== null && SOFTWARE_RENDERER.test(graphics));
  add('no_lang', () => navigator.languages.length === 0);
  add('cdc', () => hasGlobal(DRIVER_NAME));
  add('pw', () => hasGlobal(PLAYWRIGHT_NAME));
  add('selenium', () => hasGlobal(SELENIUM_NAME) || hasSeleniumAttribute());
  add('synthetic', () => syntheticShare > 0.5);
  return codes;
}

function hasGlobal(name: RegExp): boolean {
  return hasMatch(Object.getOwnPropertyNames(window), name) || hasMatch(Object.getOwnPropertyNames(document), name);
}

function hasSeleniumAttribute(): boolean {
  const root = readProperty(Document, 'documentElement', document);
  return hasMatch(root.getAttributeNames(), /^(?:selenium|webdriver|driver)$/);
}

function hasMatch(names: readonly string[], pattern: RegExp): boolean {
  for (let i = 0; i < names.length; i++) if (pattern.test(names[i] as string)) return true;
  return false;
}

/** The property is the browser's own getter on the prototype. Every Chromium has it, so its absence there is a change too. */
function isWebdriverPatched(): boolean {
  const own: { readonly get?: unknown } | undefined = Object.getOwnPropertyDescriptor(Navigator.prototype, 'webdriver');
  return own === undefined ? navigator.userAgentData !== undefined : !isNative(own.get);
}

/** A desktop window has a frame around the page. Not judged: frames within a page, full screen, kiosks, a page in the background. */
function hasNoFrame(): boolean {
  const isDesktop = navigator.userAgentData?.mobile !== true && navigator.maxTouchPoints === 0;
  if (!isDesktop || window.top !== window || !Document.prototype.hasFocus.call(document)) return false;
  if (
    readProperty(Document, 'fullscreenElement', document) !== null ||
    matchMedia('(display-mode: fullscreen)').matches
  )
    return false;
  return outerWidth > 0 && outerWidth === innerWidth && outerHeight === innerHeight;
}

/** The kind of app that shows the page in a view of its own; null in a browser. */
export function readWebView(): string | null {
  const agent = navigator.userAgent;
  if (/; wv\)/.test(agent)) return 'android';
  if (/\bFB[AI]|Instagram|Line\/|MicroMessenger|GSA\/|Electron\//.test(agent)) return 'app';
  return /\b(?:iPhone|iPad|iPod)\b.*AppleWebKit(?!.*Safari)/.test(agent) ? 'ios' : null;
}

/**
 * Returns `worker_ua` if a worker of this page has another user agent than the page. Only on request: a page without `worker-src blob:`
 * would report a violation of its policy.
 */
export async function compareWithWorker(): Promise<string | null> {
  const url = URL.createObjectURL(new Blob(['postMessage(navigator.userAgent)'], { type: 'text/javascript' }));
  try {
    return await new Promise<string | null>((resolve) => {
      const worker = new Worker(trusted(url));
      const end = (code: string | null): void => {
        worker.terminate();
        resolve(code);
      };
      worker.addEventListener('message', ({ data }) => end(data === navigator.userAgent ? null : 'worker_ua'));
      worker.addEventListener('error', () => end(null));
    });
  } catch {
    return null;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Trusted Types are not in every browser, nor in the compiler's types. */
interface WithTrustedTypes {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(url: string): string },
    ): { createScriptURL(url: string): string };
  };
}

function trusted(url: string): string {
  const { trustedTypes } = window as WithTrustedTypes;
  if (trustedTypes === undefined) return url;
  return trustedTypes.createPolicy('gatehouse', { createScriptURL: (own) => own }).createScriptURL(url);
}
