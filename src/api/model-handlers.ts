import type { ModelsView, SlotView } from '../assets/model-candidates.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';

/** Dependencies of the endpoints about models. Source: contract, 9.12. */
export interface ModelParts {
  readonly readModels: () => Promise<ModelsView>;
}

export function modelHandlers(endpoint: EndpointFactory, { readModels }: ModelParts): SecretHandlers<'readModels'> {
  const read: EndpointHandler = async () => {
    const { slots, candidates } = await readModels();
    const roleOf = (id: string): string | null =>
      id === slots.model.id ? 'active' : id === slots.challenger.id ? 'challenger' : null;
    const body = {
      active: showSlot(slots.model),
      challenger: showSlot(slots.challenger),
      candidates: candidates.map(({ id, version, format, trainedAtMs, prior, threshold, isShadowOnly }) => ({
        id,
        version,
        format,
        trained_at: toSeconds(trainedAtMs),
        prior,
        threshold,
        shadow_only: isShadowOnly,
        role: roleOf(id),
      })),
    };
    return { kind: 'json', status: 200, body };
  };
  return { readModels: endpoint({}, read) };
}

function showSlot({ id, version, state, detail, refused = false, sinceMs }: SlotView): Record<string, unknown> {
  return { id, version, state, detail, refused, since: toSeconds(sinceMs) };
}

function toSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
