import * as z from 'zod';

/** Responses of the endpoints of the collector. */

export const GRANT = z
  .object({
    grant: z.string().meta({ description: 'Opaque; goes into each token as g' }),
    nonce: z.string().meta({ description: 'base64url of the 32 bytes that sign each token' }),
    expires_at: z.int().meta({ description: 'Unix seconds, 30 minutes from now' }),
  })
  .meta({ id: 'Grant' });

/** A body that only its media type describes. */
export const SCRIPT = z.string();

/** A body that is ignored. */
export const ANY_BODY = z.unknown();
