/** Options of a page for the collector. Every field is optional. */
export interface StartOptions {
  /** The public key, `pk_live_…`. Without it tokens are `st1.`, and `decide` is not available. */
  readonly publicKey?: string;
  /** Address of the Gatehouse server. Default: the origin that served the script, in the module form the page's own origin. */
  readonly server?: string;
  /**
   * Storage in the browser: `off` nothing, `session` a session id until the tab is closed (default), `on` also a random id of this
   * browser.
   */
  readonly storage?: 'off' | 'session' | 'on';
  /** `minimal` reads no property of the device for a fingerprint. Default `full`. */
  readonly mode?: 'full' | 'minimal';
  /** Effect of Global Privacy Control: `honour` (default) keeps nothing in the browser, `ignore` leaves `storage` as it is. */
  readonly gpc?: 'honour' | 'ignore';
  /** Compares this page with a worker. Needs `worker-src blob:`, under Trusted Types also the policy `gatehouse`. Default false. */
  readonly worker?: boolean;
}

/** The same, complete and checked. */
export interface CollectorSettings {
  readonly publicKey: string | null;
  /** An origin without a path. */
  readonly server: string;
  readonly storage: 'off' | 'session' | 'on';
  readonly mode: 'full' | 'minimal';
  readonly worker: boolean;
}

/** The visitor's wish in browsers that have it; absent elsewhere. Source: the Global Privacy Control specification. */
declare global {
  interface Navigator {
    readonly globalPrivacyControl?: boolean;
  }
}

/** Completes the options. A value that is not one of the documented ones counts as absent: a typing error must not store more. */
export function completeOptions(options: StartOptions, servedFrom: string | null): CollectorSettings {
  const wish = options.gpc !== 'ignore' && navigator.globalPrivacyControl === true;
  const storage = options.storage === 'on' || options.storage === 'off' ? options.storage : 'session';
  return {
    publicKey: typeof options.publicKey === 'string' && options.publicKey !== '' ? options.publicKey : null,
    server: originOf(options.server) ?? servedFrom ?? location.origin,
    storage: wish ? 'off' : storage,
    mode: options.mode === 'minimal' ? 'minimal' : 'full',
    worker: options.worker === true,
  };
}

/** Reads the attributes of the script's tag. `waits` is true if the page calls `start` itself, after consent. */
export function readTag({ dataset, src }: HTMLScriptElement): {
  readonly options: StartOptions;
  readonly waits: boolean;
} {
  const { key: publicKey = '', storage, mode, gpc, worker, server = src } = dataset;
  const options = { publicKey, storage, mode, gpc, server, worker: worker === 'on' };
  return { options: options as StartOptions, waits: dataset['consent'] === 'wait' };
}

function originOf(address: string | undefined): string | null {
  try {
    const { protocol, origin } = new URL(address ?? '', location.href);
    return address !== undefined && address !== '' && /^https?:$/.test(protocol) ? origin : null;
  } catch {
    return null;
  }
}
