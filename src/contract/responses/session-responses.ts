import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { pageOf, unixSeconds } from './response-parts.ts';

/** A session's cookies and headers are never shown. */
export const SESSION = z
  .object({
    id: z.string().regex(idPattern('ses')),
    host: z.string(),
    created_at: unixSeconds,
    expires_at: unixSeconds,
  })
  .meta({ id: 'Session' });

export const SESSION_PAGE = pageOf(SESSION).meta({ id: 'SessionPage' });
