import { bodyTooLarge } from '../http/reply.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECIDE_BODY_BYTES_MAX } from '../kernel/limits.ts';
import type { Simulator } from '../decide/simulator.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import type { OwnPolicies } from './own-policies.ts';
import { explainDecision } from './show-decision.ts';
import { SIMULATION_BODY } from './simulation-body.ts';

/** Dependencies of simulations. Source: contract, 9.9. */
export interface SimulateParts {
  readonly simulator: Pick<Simulator, 'run'>;
  readonly policies: Pick<OwnPolicies, 'appliedTo'>;
}

export function simulateHandlers(
  endpoint: EndpointFactory,
  { simulator, policies }: SimulateParts,
): SecretHandlers<'simulateDecision'> {
  const simulate: EndpointHandler<string> = async ({ caller, body, nowMs, requestId }) => {
    const bytes = Buffer.from(body);
    if (bytes.length > DECIDE_BODY_BYTES_MAX) return { kind: 'problem', problem: bodyTooLarge(DECIDE_BODY_BYTES_MAX) };
    const { customer } = caller;
    const simulated = await simulator.run(customer, bytes, nowMs);
    if (simulated.kind === 'refused') return { kind: 'problem', problem: simulated.problem };
    // The worker's own id would prove that the customer made such a decision.
    const record = { ...simulated.record, requestId };
    const found = { record, latencyMs: simulated.latencyMs };
    return { kind: 'json', status: 200, body: explainDecision(found, policies.appliedTo(customer, record)) };
  };

  return { simulateDecision: endpoint({ body: SIMULATION_BODY }, simulate) };
}
