import * as z from 'zod';
import { NODE_ROLES } from '../node-roles.ts';

/** Responses of the operator endpoints. */

export const HEALTH = z.object({
  status: z.literal('ok'),
  source_address: z.string().optional().meta({
    description: 'With `?source=1` only: the address that this request counts for, behind the proxies that are trusted',
  }),
});

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

const DATA_FEED = z
  .object({
    version: z.string().nullable().meta({ description: 'Day on which the publisher wrote it' }),
    age_days: z.int().nullable(),
    state: z.enum(['ok', 'old', 'held', 'absent']).meta({
      description: '`old`: used, and older than its limit. `held`: its newest file was refused, the one before is used',
    }),
    rows: z.int().nullable(),
    detail: z.string().meta({ description: 'What the feed misses' }),
  })
  .meta({ id: 'DataFeed' });

export const READINESS = z
  .object({
    status: z.enum(['starting', 'ok', 'degraded', 'unavailable', 'stopping']).meta({
      description: 'In the first moments of `starting`, `transport`, `roles` and `layers` are absent',
    }),
    transport: z.enum(['uws', 'node']).optional(),
    transport_detail: z.string().optional(),
    version: z.string(),
    node: z.string(),
    roles: z.array(z.enum(NODE_ROLES)).optional().meta({ description: 'What this node does' }),
    layers: z
      .object({
        store: LAYER,
        geoip_city: LAYER.optional(),
        geoip_country: LAYER.optional(),
        geoip_asn: LAYER.optional(),
        anonymiser: LAYER.optional(),
        networks: LAYER.optional(),
        hosting_networks: LAYER.optional(),
        model: LAYER.optional(),
        velocity: LAYER.optional(),
        webhooks: LAYER.optional(),
        extraction: LAYER.optional(),
        policy: LAYER.optional(),
        addresses: LAYER.optional(),
        backups: LAYER,
        feed: LAYER.optional(),
        cluster: LAYER.optional(),
      })
      .optional()
      .meta({ description: 'A layer that none of the roles of this node uses is absent' }),
    data: z.record(z.string(), DATA_FEED).optional().meta({
      description: 'Data feeds by name, on a node that decides. An old or absent feed makes nothing degraded',
    }),
  })
  .meta({ id: 'Readiness' });

/** Described by the OpenAPI specification itself. */
export const OPEN_API = z.looseObject({ openapi: z.string(), paths: z.looseObject({}) });

/** A body that only its media type describes. */
export const TEXT = z.string();
