/** Types of `@gatehouse/collector`, copied beside the module. A test holds them to the source. Documentation: docs/collector.md. */
export interface StartOptions {
  readonly publicKey?: string;
  readonly server?: string;
  readonly storage?: 'off' | 'session' | 'on';
  readonly mode?: 'full' | 'minimal';
  readonly gpc?: 'honour' | 'ignore';
  readonly worker?: boolean;
}

/** Begins to read signals. Returns false, and changes nothing, if a collector already runs on this page. */
export declare const start: (options?: StartOptions) => boolean;
/** Returns a new token; `''` before `start` and after `stop`. Never rejects. */
export declare const token: () => Promise<string>;
/** Asks for a decision, signed with the public key. For analytics only: the backend decides. Rejects with an error that has a `code`. */
export declare const decide: (body: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>>;
/** Stops everything; with `forget` the stored ids are deleted too. */
export declare const stop: (options?: { readonly forget?: boolean }) => void;
export declare const version: string;
