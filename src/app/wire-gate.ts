import { GateCookies } from '../decide/gate/gate-cookie.ts';
import { GateCounts, gateHandler } from '../decide/gate/gate-handler.ts';
import type { DecidePipeline } from '../decide/pipeline.ts';
import type { Handlers } from '../http/handlers.ts';
import { BoundedCache } from '../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { type Reading, totals } from '../observe/reading.ts';
import { type GateSettings, gateSettingsOf } from '../risk/policy/gate-settings.ts';
import type { PolicyDocument } from '../risk/policy/policy-document.ts';
import { DEFAULT_DOCUMENT } from '../risk/policy/policy-set.ts';
import { GATE_PURPOSE } from './installation.ts';
import type { OpenPolicies, ServiceParts } from './service-parts.ts';
import type { SharedParts } from './wire-endpoints.ts';

export interface OpenGate {
  readonly handlers: Handlers<'askGate' | 'postToGate'>;
  readonly reading: Reading;
}

/** Choice: the settings of 1,000 customers are kept; those of others are read again from the policy. */
const CUSTOMERS_KEPT = 1_000;

/** Part of the role `decide`: the gate for proxies. */
export function wireGate(
  { clock, keyCache, listener, installation, log }: ServiceParts,
  { policyArchive }: OpenPolicies,
  decide: Pick<DecidePipeline, 'submit'>,
  { failures, onRefused }: SharedParts,
): OpenGate {
  const { store, keyFor } = installation;
  const counts = new GateCounts();
  const known = new BoundedCache<CustomerNumber, GateSettings>(CUSTOMERS_KEPT);
  let document: PolicyDocument | null = null;
  const settingsOf = (customer: CustomerNumber): GateSettings => {
    const present = policyArchive.at(Infinity) ?? DEFAULT_DOCUMENT;
    if (present !== document) known.clear();
    document = present;
    let settings = known.get(customer);
    if (settings === undefined) {
      const { gate, customers } = present;
      settings = gateSettingsOf(gate, customers.get(store.customers.find(customer)?.id ?? '')?.gate);
      known.set(customer, settings);
    }
    return settings;
  };
  const handler = gateHandler({
    clock,
    keyCache,
    failures,
    trustedProxies: listener.trustedProxies,
    cookies: new GateCookies(keyFor(GATE_PURPOSE)),
    settingsOf,
    decide,
    onRefused,
    onFailed: (error) => log.error({ err: error }, 'the gate failed'),
    counts,
  });
  const reading = totals(
    'gatehouse_gate_total',
    'Answers of the gate, by what became of the visitor.',
    'outcome',
    () => counts.all,
  );
  return { handlers: { askGate: handler, postToGate: handler }, reading };
}
