import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { unixSeconds } from './response-parts.ts';

export const SIGNED_IN = z
  .object({
    customer_id: z.string().regex(idPattern('cus')),
    name: z.string().meta({ description: 'The name of the customer' }),
    key_prefix: z.string().meta({ description: 'The first 12 characters of the key that signed in' }),
    created_at: unixSeconds.meta({ description: 'When the session began, Unix seconds' }),
    expires_at: unixSeconds.meta({ description: 'When the session ends at the latest, Unix seconds' }),
    read_only: z.boolean().meta({ description: 'Writes are refused by read_only (GATEHOUSE_DASHBOARD_READ_ONLY)' }),
    secure: z.boolean().meta({ description: 'The cookie is Secure. False on plain HTTP, for this machine only' }),
    collector_version: z.string().optional().meta({ description: 'The version of the collector that is served' }),
  })
  .meta({ id: 'SignedIn' });
