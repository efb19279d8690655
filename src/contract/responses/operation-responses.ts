import * as z from 'zod';

/** Responses of the operator endpoints. */

export const HEALTH = z.object({ status: z.literal('ok') });

const LAYER = z
  .object({
    state: z.enum(['ok', 'absent', 'broken']),
    version: z.string().nullable(),
    detail: z.string(),
    refused: z.boolean().optional().meta({
      description: 'The file that is present was refused; another version may be in use',
    }),
  })
  .meta({ id: 'Layer' });

export const READINESS = z
  .object({
    status: z.enum(['starting', 'ok', 'degraded', 'unavailable', 'stopping']).meta({
      description: 'In the first moments of `starting`, `transport` and `layers` are absent',
    }),
    transport: z.enum(['uws', 'node']).optional(),
    transport_detail: z.string().optional(),
    version: z.string(),
    node: z.string(),
    layers: z
      .object({
        store: LAYER,
        geoip_city: LAYER,
        geoip_country: LAYER,
        geoip_asn: LAYER,
        anonymiser: LAYER,
        hosting_networks: LAYER,
        model: LAYER,
        webhooks: LAYER,
        extraction: LAYER,
        policy: LAYER,
        backups: LAYER,
      })
      .optional(),
  })
  .meta({ id: 'Readiness' });

/** Described by the OpenAPI specification itself. */
export const OPEN_API = z.looseObject({ openapi: z.string(), paths: z.looseObject({}) });

/** A body that only its media type describes. */
export const TEXT = z.string();
