/** What the gate does for a customer: the member `gate` of a policy file. Source: contract, 4.8. */
export interface GateSettings {
  /** `POST /login`, or `/login` for every method; a `*` at the end stands for every path that begins so → event type. */
  readonly paths: Readonly<Record<string, string>>;
  /** Paths that are never held, in the same form without a method. */
  readonly exempt: readonly string[];
  /** Where SOFT_CHALLENGE leads; null: such visitors are let through. */
  readonly challengeUrl: string | null;
}

export type GatePart = { readonly [Name in keyof GateSettings]?: GateSettings[Name] | undefined };

/** Choice: what machines call without a browser, and what a site must answer whatever is decided about the caller. */
export const GATE_EXEMPT_PATHS: readonly string[] = [
  '/.well-known/*',
  '/health',
  '/healthz',
  '/healthcheck',
  '/livez',
  '/readyz',
  '/ping',
  '/webhook/*',
  '/webhooks/*',
  '/robots.txt',
  '/favicon.ico',
];

/** Returns the settings of a customer: those of the file, with its own on top. Exempt paths add to the default ones. */
export function gateSettingsOf(file: GatePart | undefined, own: GatePart | undefined): GateSettings {
  return {
    paths: { ...file?.paths, ...own?.paths },
    exempt: [...GATE_EXEMPT_PATHS, ...(own?.exempt ?? file?.exempt ?? [])],
    challengeUrl: own?.challengeUrl ?? file?.challengeUrl ?? null,
  };
}
